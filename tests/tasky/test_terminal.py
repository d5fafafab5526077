"""The `tasky` command with wrong words, odd terminals and places, and an impatient person."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp_host_tasky.errors import StoppedError
from mcp_host_tasky.service import Caller, Listener, PlanSettings, Service
from mcp_host_tasky.storage import Home
from tasky_lab import COMMAND, Person


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--status", "ALL"], "--status must be pending, completed, cancelled or all"),
        (["list", "--status", ""], "--status must be pending"),
        (["list", "--due-before", ""], "--due-before is empty"),
        (["list", "--sort", "unblocks"], "--sort unblocks needs --ready"),
        (["search", " "], "The words to search for are empty"),
        (["log", ""], "task_id '' is not an id"),
        (["graph", ""], "task_id '' is not an id"),
        (["graph", "--mermaid", "--json"], "--mermaid or --json, not both"),
        (["log", "--limit", "9" * 30], "--limit"),
        (["ui", "--port", "99999"], "--port"),
        (["ui", "--port", "-1"], "--port"),
        (["add", "\u200b\u202e"], "name is blank"),
        (["migrate", "postgresql://"], "URL is not well formed"),
        (["migrate", "postgresql://ann:my secret@host/plan"], "URL is not well formed"),
        (["project", "init", "--timezone", "Mars/Olympus"], "with another timezone"),
        (["project", "init", "--name", "Field"], "with another name"),
        (["project", "init", "--store", "bogus"], "'bogus' is not a store"),
        (["list", "-p", "nowhere"], "nowhere is not there"),
        (["list", "-p", ".tasky/config.toml"], "config.toml is not a folder"),
        (["project", "init", ".tasky/config.toml"], "config.toml is not a folder"),
        (["import", "/dev/null"], " /dev/null is empty"),
        (["show", "ffff", "zz"], "1: task_id 'zz' is not an id"),
    ],
)
def test_wrong_words_are_refused_by_what_is_wrong(ann: Person, words: list[str], said: str) -> None:
    ann("project", "init")

    refused = ann.run(*words)

    assert refused.returncode in (1, 2)
    told = " ".join(refused.stderr.replace("│", " ").split())
    assert said in told
    assert "secret" not in told
    assert ann.data("log") == []


def test_an_operation_cannot_add_what_it_removes(ann: Person) -> None:
    ann("project", "init")
    dig, sow = (ann.data("add", name)["task_id"] for name in ("Dig", "Sow"))

    refused = ann.run("tag", dig, "wet", "--", "-wet")
    assert "add_tags and remove_tags both hold 'wet'" in refused.stderr
    refused = ann.run("edit", dig, "--blocker", sow, "--no-blocker", sow)
    assert "add_blockers and remove_blockers both hold" in refused.stderr
    assert ann.data("show", dig)[0]["revision"] == 1


def test_a_date_in_words_is_shown_as_it_was_understood(ann: Person) -> None:
    ann("project", "init")
    task = ann.data("add", "Dig")["task_id"]

    assert "due 2030-05-03T17:00:00Z" in ann("edit", task, "--due", "2030-05-03 5pm")


def test_what_is_ready_and_done_at_once_is_told_to_be_nothing(ann: Person) -> None:
    ann("project", "init")
    ann("add", "Dig")

    assert "what is ready is pending" in ann("list", "--ready", "--status", "completed")


def test_letters_that_turn_a_line_around_are_not_shown(ann: Person) -> None:
    ann("project", "init")
    ann("add", "Dig \u202egnihton\u2069")

    assert "Dig �gnihton�" in ann("list")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_with_few_letters_is_shown_what_it_can(ann: Person, encoding: str) -> None:
    ann("project", "init")
    name = "Häcksel ✓"
    ann("add", name)
    narrow = {"PYTHONIOENCODING": encoding}

    for words in (["list"], ["show", ann.data("list")["tasks"][0]["task_id"]], ["log"]):
        done = ann.apart(*words, more_environment=narrow, encoding="latin-1")
        assert (done.returncode, done.stderr) == (0, "")
    listed = ann.apart("list", "--json", more_environment=narrow).stdout
    assert json.loads(listed)["tasks"][0]["name"] == name
    exported = ann.apart("export", more_environment=narrow, encoding="utf-8").stdout
    assert json.loads(exported)["tasks"][0]["name"] == name


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix closes the streams")
def test_streams_may_be_closed(ann: Person) -> None:
    ann("project", "init")

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(ann.home), "TASKY": COMMAND}
        return subprocess.run(
            ["sh", "-c", line],
            cwd=ann.folder, env=environment, text=True, capture_output=True, check=False,
        )  # fmt: skip

    for line in ("$TASKY add Dig >&-", "$TASKY list >&-", "$TASKY list >&- 2>&- <&-"):
        done = shell(line)
        assert (done.returncode, done.stderr) == (0, ""), line
    assert [row["name"] for row in ann.data("list")["tasks"]] == ["Dig"]
    assert "is empty" in shell("$TASKY import - <&-").stderr


@pytest.mark.parametrize("width", ["40", "20", "0", "-5", "wide"])
def test_ids_are_whole_at_any_width(ann: Person, width: str) -> None:
    ann("project", "init")
    task = ann.data("add", "Dig the beds " * 9, "--due", "tomorrow")["task_id"]
    ann("claim", task)

    for words in (["list"], ["log"]):
        shown = ann.apart(*words, more_environment={"COLUMNS": width}).stdout
        assert task[:8] in shown, words
    whole = ann.apart("show", task, more_environment={"COLUMNS": "40"}).stdout
    assert f"task_id{task}" in "".join(whole.replace("│", " ").split())


def test_paths_are_whole_at_any_width(ann: Person) -> None:
    ann("project", "init")
    for words in (["project", "info"], ["project", "list"]):
        shown = ann.apart(*words, more_environment={"COLUMNS": "40"}).stdout
        cells = [line.split("│")[2].strip() for line in shown.splitlines() if "│" in line]
        assert str(ann.folder.resolve()) in "".join(cells), words


def test_names_are_offered_to_shells_without_what_shells_would_run(ann: Person) -> None:
    ann("project", "init")
    ann("add", "Dig \\$(touch run) `touch run` \"a\" 'b'")

    asked = {"_TASKY_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "tasky show "}
    offered = ann.apart(more_environment=asked).stdout

    name = offered.partition('":"')[2].partition('"')[0]
    assert name.startswith("Dig ")
    assert "touch run" in name
    assert not set(name) & set("\\$`'")


def test_the_log_of_what_is_gone_says_no_more_than_that(ann: Person) -> None:
    ann("project", "init")
    task = ann.data("add", "Dig")["task_id"]
    ann("delete", task)

    assert "–" not in ann("log")
    assert "history of tasks" in ann.run("undo", "99").stderr


def test_a_folder_without_letters_can_be_a_project(ann: Person, tmp_path: Path) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/od\xff")
    try:
        Path(folder).mkdir()
    except (OSError, UnicodeError):
        pytest.skip("the file system takes only UTF-8")
    odd = Person(ann.home, Path(folder))

    assert odd.apart("project", "init").returncode == 0
    assert odd.apart("add", "Dig").returncode == 0
    assert odd.data("list")["total"] == 1
    refused = Person(ann.home, tmp_path / "garden").apart("project", "init", "--name", "od\udcff")
    assert "The name must be text in UTF-8" in refused.stderr
    assert not (tmp_path / "garden" / ".tasky").exists()


def test_a_home_that_is_none_holds_nothing_and_leaves_nothing_half_made(ann: Person) -> None:
    nowhere = ann.home / "file"
    nowhere.write_text("")
    lost = Person(nowhere, ann.folder)

    refused = lost.apart("project", "init")

    assert refused.returncode == 1
    assert "cannot be used: Not a directory" in refused.stderr
    assert not (ann.folder / ".tasky").exists()
    ann("project", "init")
    ann("add", "Dig")
    assert lost.data("list")["total"] == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that somebody is in")
def test_a_working_folder_that_is_gone_is_named(ann: Person) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && {COMMAND} list; {COMMAND} project init"
    done = subprocess.run(
        ["sh", "-c", line], cwd=ann.folder, text=True, capture_output=True, check=False
    )

    assert done.stderr.splitlines() == ["error: The working folder is gone."] * 2


def test_a_linked_plan_is_told_to_leave_the_project(ann: Person, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (ann.folder / ".tasky").symlink_to(tmp_path / "else")

    assert "would leave the project" in ann.run("list").stderr


def test_a_plan_whose_tasks_are_gone_is_damaged_and_not_empty(ann: Person) -> None:
    ann("project", "init", "--store", "json")
    ann("add", "Dig")
    tasks = ann.folder / ".tasky" / "tasks"
    kept = tasks.rename(ann.folder / "away")

    for words in (["list"], ["add", "Sow"], ["check"]):
        refused = ann.run(*words)
        assert refused.returncode == 1
        assert "tasks is missing" in refused.stdout + refused.stderr
    assert not tasks.exists()
    kept.rename(tasks)
    assert ann.data("list")["total"] == 1


def test_a_store_that_is_a_folder_is_told_to_be_one(ann: Person) -> None:
    ann("project", "init")
    store = ann.folder / ".tasky" / "tasks.db"
    store.unlink()
    store.mkdir()
    assert "it is a folder" in ann.run("list").stderr

    shutil.rmtree(ann.folder / ".tasky")
    ann("project", "init", "--store", "json")
    local = ann.folder / ".tasky" / "tasks" / "local.json"
    local.unlink()
    local.mkdir()
    assert f"{local} cannot be used" in ann.run("list").stderr


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc")
def test_who_waits_for_another_writer_can_give_up(ann: Person) -> None:
    ann("project", "init")
    ann("add", "Dig")
    other = sqlite3.connect(ann.folder / ".tasky" / "tasks.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = ann.begun("add", "Sow")
    try:
        # It has opened the file when its log is held by a second process.
        _wait_for(lambda: _has_open(waiting.pid, "tasks.db"))
        began = time.monotonic()
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=20)
    finally:
        waiting.kill()
        other.close()

    assert time.monotonic() - began < 5
    assert (waiting.returncode, "Traceback" in said) == (130, False)
    assert ann.data("list")["total"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_program_of_a_condition_ends_with_who_waits_for_it(
    ann: Person, number: signal.Signals
) -> None:
    task, mark = _with_slow_condition(ann)
    waiting = ann.begun("done", task)
    _wait_for(mark.exists)

    waiting.send_signal(number)
    waiting.communicate(timeout=20)

    assert waiting.returncode == 128 + number
    _wait_for(lambda: not _runs(int(mark.read_text())))
    assert ann.data("show", task)[0]["status"] == "pending"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups of Unix")
def test_the_program_of_a_condition_ends_with_the_server(ann: Person) -> None:
    task, mark = _with_slow_condition(ann)
    listener = Listener(lambda error: None, lambda: None, lambda: None)
    home = Home(ann.home / ".tasky", {})
    service = Service(PlanSettings(root=ann.folder), home, listener, str)
    with ThreadPoolExecutor(1) as pool:
        edit = pool.submit(service.edit, [{"action": "complete", "task_id": task}], Caller("ben"))
        _wait_for(mark.exists)

        service.close()

        assert isinstance(edit.exception(), StoppedError)
    _wait_for(lambda: not _runs(int(mark.read_text())))
    assert ann.data("show", task)[0]["status"] == "pending"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups of Unix")
def test_the_program_of_a_condition_ends_where_ctrl_c_comes_while_it_is_started(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, mark = _with_slow_condition(ann)
    submit = ThreadPoolExecutor.submit

    def interrupted(*given: Any) -> Future[Any]:
        submit(*given)
        _wait_for(mark.exists)
        raise KeyboardInterrupt

    service = Service(
        PlanSettings(root=ann.folder),
        Home(ann.home / ".tasky", {}),
        Listener(lambda error: None, lambda: None, lambda: None),
        str,
    )
    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        service.edit([{"action": "complete", "task_id": task}], Caller("ben"))
    monkeypatch.undo()
    service.close()

    _wait_for(lambda: not _runs(int(mark.read_text())))
    assert ann.data("show", task)[0]["status"] == "pending"


def _with_slow_condition(person: Person) -> tuple[str, Path]:
    """A task whose condition runs for minutes, and where that leaves its process's number."""
    person("project", "init")
    task = person.data("add", "Dig", "--done-when", "slow")["task_id"]
    mark = person.folder / "pid"
    program = f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600"
    settings = person.home / ".tasky" / "config.toml"
    settings.write_text(f'[done_conditions.slow]\nrun = ["sh", "-c", "{program}"]\n')
    return task, mark


def _has_open(process: int, name: str) -> bool:
    for link in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            if str(link.readlink()).endswith(f"{name}-shm"):
                return True
    return False


def _runs(pid: int) -> bool:
    """Whether a process runs: one that was killed and that nobody has waited for yet does not."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


def _wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        os.sched_yield()
