"""An archive killed at any moment leaves the old tree or becomes the new one."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from mcp_host_openspec.errors import LockedError, WithdrawnError
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.archive_plan import Options
from mcp_host_openspec.storage.lock import NAME
from mcp_host_openspec.storage.transaction import JOURNAL

CRASH = Path(__file__).with_name("crash.py")
SPECS = 4
LOCK = f"openspec/changes/archive/{NAME}"

Contents = dict[str, bytes]


def spec(number: int) -> str:
    return (
        f"# s{number}\n\n## Purpose\nA purpose that is long enough to be called a purpose.\n\n"
        "## Requirements\n\n### Requirement: One\nIt SHALL work.\n\n#### Scenario: s\n- a\n"
    )


def delta(name: str) -> str:
    return (
        f"## ADDED Requirements\n\n### Requirement: {name}\nIt MUST work.\n\n"
        "#### Scenario: t\n- **WHEN** b\n"
    )


def plant(project: Path) -> Path:
    """A tree whose one change grows every spec and makes a new one, and retires none."""
    for number in range(SPECS):
        write(project / f"openspec/specs/s{number}/spec.md", spec(number))
        write(project / f"openspec/changes/grow/specs/s{number}/spec.md", delta("Two"))
    write(project / "openspec/changes/grow/specs/area/fresh/spec.md", delta("First"))
    write(project / "openspec/changes/grow/tasks.md", "- [x] 1.1 All\n")
    (project / "openspec/changes/archive").mkdir()
    return project


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def contents(project: Path) -> Contents:
    """Every file and folder of the tree."""
    return {
        path.relative_to(project).as_posix(): path.read_bytes() if path.is_file() else b"folder"
        for path in sorted(project.rglob("*"))
    }


def settle(project: Path) -> Contents:
    """What the next start leaves behind."""
    OpenSpec(Root(project, "configured")).recover()
    found = contents(project)
    # A lock may be left by a process that died before it had a journal; the next archive clears it.
    return {name: data for name, data in found.items() if not name.startswith(LOCK)}


@pytest.fixture
def both(tmp_path: Path) -> tuple[Contents, Contents]:
    """The tree as it is before and after the archive."""
    old = contents(plant(tmp_path / "old"))
    project = plant(tmp_path / "new")
    OpenSpec(Root(project, "configured")).archive("grow", Options())
    new = contents(project)
    assert f"openspec/changes/archive/{date.today()}-grow/tasks.md" in new
    assert "openspec/specs/area/fresh/spec.md" in new
    return old, new


def test_a_kill_before_any_single_write_leaves_the_old_or_the_new_tree(
    tmp_path: Path, both: tuple[Contents, Contents]
) -> None:
    """Every place where an archive touches the disk, one after the other."""
    whole = plant(tmp_path / "whole")
    steps = int(crash(whole, 10**9).stdout)
    assert contents(whole) == both[1]
    assert steps > 3 * SPECS
    outcomes = set()
    for step in range(1, steps + 1, 4):
        project = plant(tmp_path / f"at{step}")
        assert crash(project, step).returncode == -signal.SIGKILL
        found = settle(project)
        assert found in both, f"neither old nor new after a kill at step {step}"
        outcomes.add(both.index(found))
    assert outcomes == {0, 1}


def crash(project: Path, step: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(CRASH), str(project), str(step)], capture_output=True, text=True
    )


@pytest.mark.torture
def test_a_kill_before_every_write_leaves_the_old_or_the_new_tree(
    tmp_path: Path, both: tuple[Contents, Contents]
) -> None:
    steps = int(crash(plant(tmp_path / "whole"), 10**9).stdout)
    for step in range(1, steps + 1):
        project = plant(tmp_path / f"at{step}")
        crash(project, step)
        assert settle(project) in both, f"neither old nor new after a kill at step {step}"


def kill_at_random(tmp_path: Path, both: tuple[Contents, Contents], rounds: int) -> list[int]:
    """Kill the real command at random moments; how often the tree was old and how often new."""
    outcomes = [0, 0]
    command = [str(Path(sys.executable).with_name("openspec")), "archive", "grow", "--yes"]
    began = time.monotonic()
    subprocess.run(command, cwd=plant(tmp_path / "timed"), stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - began
    moments = random.Random(4)
    for number in range(rounds):
        project = plant(tmp_path / f"round{number}")
        process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL)
        timer = threading.Timer(moments.uniform(0.5 * whole, 1.1 * whole), process.kill)
        timer.start()
        process.wait()
        timer.cancel()
        found = settle(project)
        assert found in both, f"neither old nor new after round {number}"
        outcomes[both.index(found)] += 1
    return outcomes


def test_twenty_random_kills_leave_whole_trees(
    tmp_path: Path, both: tuple[Contents, Contents]
) -> None:
    kill_at_random(tmp_path, both, 20)


@pytest.mark.torture
def test_two_hundred_random_kills_leave_whole_trees(
    tmp_path: Path, both: tuple[Contents, Contents]
) -> None:
    assert min(kill_at_random(tmp_path, both, 200)) > 0


def test_the_archive_goes_on_after_a_kill(tmp_path: Path, both: tuple[Contents, Contents]) -> None:
    """Whoever was killed simply archives again; the dead process's lock is in nobody's way."""
    project = plant(tmp_path / "again")
    assert crash(project, 6).returncode == -signal.SIGKILL
    assert (project / LOCK).exists()
    OpenSpec(Root(project, "configured")).archive("grow", Options())
    assert contents(project) == both[1]


def test_an_edit_made_after_a_crash_is_kept(tmp_path: Path) -> None:
    """Where a person has edited a spec since, the interrupted archive is undone around the edit."""
    for step in range(20, 200):
        project = plant(tmp_path / f"step{step}")
        crash(project, step)
        journal = project / "openspec/changes/archive" / JOURNAL
        if (journal / "plan.json").exists() and not (journal / "0.new").exists():
            break
    edited = project / "openspec/specs/s3/spec.md"
    edited.write_text("# mine\n")
    OpenSpec(Root(project, "configured")).recover()
    assert edited.read_text() == "# mine\n"
    assert (project / "openspec/specs/s0/spec.md").read_text() == spec(0)
    assert (project / "openspec/changes/grow").is_dir()
    assert not journal.exists()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return plant(tmp_path / "project")


def archiving(project: Path) -> Callable[[], object]:
    return lambda: OpenSpec(Root(project, "configured")).archive("grow", Options())


def test_an_archive_nobody_waits_for_any_more_is_not_begun(project: Path) -> None:
    before = contents(project)
    with pytest.raises(WithdrawnError):
        OpenSpec(Root(project, "configured")).archive("grow", Options(), wanted=lambda: False)
    assert contents(project) == before


def test_the_lock_of_a_living_process_is_respected(project: Path) -> None:
    """The reference tool's own lock: a process number and a nonce."""
    before = contents(project)
    with subprocess.Popen(["sleep", "60"]) as other:
        write(project / LOCK, json.dumps({"pid": other.pid, "nonce": "x"}))
        with pytest.raises(LockedError) as locked:
            archiving(project)()
        other.kill()
    assert str(project / LOCK) in locked.value.suggestions[0]
    (project / LOCK).unlink()
    assert contents(project) == before


@pytest.mark.parametrize("host", [None, "ours"])
def test_the_lock_of_a_dead_process_is_taken_over(project: Path, host: str | None) -> None:
    import socket

    dead = subprocess.Popen(["true"])
    dead.wait()
    holder: dict[str, object] = {"pid": dead.pid, "nonce": "x"}
    if host:
        holder["host"] = socket.gethostname()
    write(project / LOCK, json.dumps(holder))
    archiving(project)()
    assert not (project / LOCK).exists()


def test_the_lock_of_another_machine_is_respected(project: Path) -> None:
    write(project / LOCK, json.dumps({"pid": 1, "nonce": "x", "host": "elsewhere.example"}))
    with pytest.raises(LockedError):
        archiving(project)()


def test_a_process_number_given_out_again_holds_no_lock(project: Path) -> None:
    """The process of that number is younger than the lock, so it did not write it."""
    write(project / LOCK, json.dumps({"pid": os.getpid(), "nonce": "x"}))
    os.utime(project / LOCK, (1_000_000_000, 1_000_000_000))
    archiving(project)()


def test_of_several_archives_at_once_one_wins_and_none_spoils_it(
    project: Path, both: tuple[Contents, Contents]
) -> None:
    command = [str(Path(sys.executable).with_name("openspec")), "archive", "grow", "--yes"]
    racers = [
        subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert sorted(racer.wait() for racer in racers) == [0, 1, 1, 1]
    assert contents(project) == both[1]


def test_an_edit_between_reading_and_writing_stops_the_archive(project: Path) -> None:
    """One spec is edited while another is put in place: it is no longer what was read."""
    openspec = OpenSpec(Root(project, "configured"))
    edited = project / "openspec/specs/s3/spec.md"
    script = (
        "import sys, pathlib\n"
        "from mcp_host_openspec.service import OpenSpec, Root\n"
        "from mcp_host_openspec.service.archive_plan import Options\n"
        "from mcp_host_openspec.errors import ChangedError\n"
        f"project = pathlib.Path({str(project)!r})\n"
        f"edited = pathlib.Path({str(edited)!r})\n"
        "def edit(event, arguments):\n"
        "    if event == 'os.rename' and str(arguments[1]).endswith('s1/spec.md'):\n"
        "        edited.write_text('# mine')\n"
        "openspec = OpenSpec(Root(project, 'configured'))\n"
        "sys.addaudithook(edit)\n"
        "try:\n"
        "    openspec.archive('grow', Options())\n"
        "except ChangedError:\n"
        "    sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 7
    assert edited.read_text() == "# mine"
    assert openspec.spec("s1").text == spec(1)
    assert openspec.change_ids() == ["grow"]
    assert not (project / "openspec/specs/area").exists()
    assert list((project / "openspec/changes/archive").iterdir()) == []
