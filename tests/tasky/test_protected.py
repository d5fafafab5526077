"""Plans that may be looked at and not be written: a protected file in a protected folder."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp_host import Caller, Context, Form
from mcp_host_tasky.errors import BusyError, UnavailableError
from mcp_host_tasky.service import Listener, Plan, PlanSettings, Service, Tasks
from mcp_host_tasky.storage import Home, Location, open_store
from mcp_host_tasky.tools import agreed
from tasky_lab import ME, create, get, names, refusal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
KINDS = ("sqlite", "json")
_NOBODY = 65_534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="tasky-") as name:
        yield Path(name)


def opened(location: Location) -> Tasks:
    return Tasks(open_store(location), Plan(name="Test"))


@contextmanager
def protected(folder: Path) -> Iterator[None]:
    """Take the right to write here from everybody; root, who keeps it, becomes nobody."""
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


def as_owner(do: Callable[[], None]) -> None:
    was = os.geteuid()
    os.seteuid(os.getuid())
    do()
    os.seteuid(was)


@pytest.mark.parametrize("kind", KINDS)
def test_a_protected_plan_can_be_read(folder: Path, kind: str) -> None:
    location = Location(kind, folder / "plan")
    tasks = opened(location)
    (one, two) = create(tasks, "Water the seeds", "Harvest")
    tasks.close()

    with protected(folder):
        tasks = opened(location)
        assert names(tasks) == ["Water the seeds", "Harvest"]
        assert names(tasks, search="seed") == ["Water the seeds"]
        assert get(tasks, two)["name"] == "Harvest"
        assert tasks.info()["total"] == 2
        assert len(tasks.history(one)) == 1
        dry = tasks.edit([{"task_id": one, "action": "complete"}], ME, dry_run=True)
        assert dry[0]["status"] == "completed"
        tasks.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_hangs_on_a_task_is_asked_of_a_plan_that_cannot_be_written(
    folder: Path, kind: str
) -> None:
    home = Home.of_user({"HOME": str(folder / "home")})
    plan = home.init(folder, store=kind, name="Asked").location
    tasks = opened(plan)
    (one,) = create(tasks, "Dough")
    create(tasks, "Bread", blockers=[one])
    tasks.close()
    service = Service(PlanSettings(root=folder), home, Listener(ignored, ignored, ignored), str)
    context = Context("1", Caller(offers=frozenset({"elicitation"})))

    with protected(folder):
        asked = agreed(service, [{"action": "delete", "task_id": one}], False, context)
        service.close()

    assert isinstance(asked, Form)
    assert asked.message == "Delete? 'Dough': 1 task waits for this one."


def ignored(*_: object) -> None:
    """Hear what nobody waits for here."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_to_a_protected_plan_says_that_it_is_protected(folder: Path, kind: str) -> None:
    location = Location(kind, folder / "plan")
    tasks = opened(location)
    create(tasks, "One")
    tasks.close()

    with protected(folder):
        tasks = opened(location)
        error = refusal(lambda: create(tasks, "Two"))
        assert names(tasks) == ["One"]
        tasks.close()

    assert isinstance(error, UnavailableError)
    assert error.reason == "store_read_only"
    assert error.message.startswith(f"{folder / 'plan'} can be read but not written: ")
    assert error.suggestions


@pytest.mark.parametrize("kind", KINDS)
def test_a_protected_plan_shows_what_its_owner_writes(folder: Path, kind: str) -> None:
    location = Location(kind, folder / "plan")
    tasks = opened(location)
    create(tasks, "One")
    tasks.close()
    with protected(folder):
        reader = opened(location)
        assert names(reader) == ["One"]

    owner = opened(location)
    create(owner, "Two")
    owner.close()

    with protected(folder):
        assert names(reader) == ["One", "Two"]
        reader.close()


def test_a_read_that_the_owner_wrote_into_is_not_answered(folder: Path) -> None:
    plan = folder / "plan"
    tasks = opened(Location("sqlite", plan))
    create(tasks, "One")
    tasks.close()

    with protected(folder):
        store = open_store(Location("sqlite", plan))
        with pytest.raises(BusyError), store.read() as reading:
            assert reading.last_number() == 1
            as_owner(lambda: os.utime(plan, (1, 1)))
        with store.read() as reading:
            assert reading.last_number() == 1


def test_a_log_that_cannot_be_read_is_not_passed_over(folder: Path) -> None:
    plan = folder / "plan"
    tasks = opened(Location("sqlite", plan))
    create(tasks, "One")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    tasks.close()
    for name in ("plan", "plan-wal"):
        (folder / name).write_bytes(kept[name])

    with protected(folder):
        error = refusal(lambda: open_store(Location("sqlite", plan)))

    assert error.reason == "store_unusable"
    assert "One" in names(opened(Location("sqlite", plan)))
