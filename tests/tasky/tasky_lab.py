"""What the Tasky tests share: plans on every store, with a clock and ids that tests can foresee."""

import io
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from mcp_host_tasky.cli import main
from mcp_host_tasky.errors import TaskyError
from mcp_host_tasky.service import Caller, Page, Plan, Search, Tasks
from mcp_host_tasky.storage import Location, open_store

ME = Caller("me")
START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)  # a Saturday

COMMAND = str(Path(sys.executable).with_name("tasky"))


@dataclass
class Person:
    """Somebody with a home of their own, in a project's folder."""

    home: Path
    folder: Path
    name: str = "ann"

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command in this process, which spares the start of another."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            with (
                patch.dict(os.environ, self._environment(variables)),
                patch.object(sys, "argv", ["tasky", *words]),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            os.chdir(here)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def apart(
        self, *words: str, more_environment: dict[str, str] | None = None, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own."""
        return subprocess.run(
            [COMMAND, *words],
            cwd=self.folder,
            env={**os.environ, **self._environment(more_environment or {})},
            text=True,
            check=False,
            **({"capture_output": True} | more),
        )

    def begun(self, *words: str) -> subprocess.Popen[str]:
        """Begin the command in a process of its own, which may go on for long."""
        return subprocess.Popen(
            [COMMAND, *words],
            cwd=self.folder,
            env={**os.environ, **self._environment({})},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        known = {"HOME": str(self.home), "TZ": "UTC", "COLUMNS": "120"}
        return {**known, "USER": self.name, "LOGNAME": self.name, **more}

    def __call__(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def data(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


class Clock:
    """A clock that stands until it is told to go."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **step: float) -> None:
        self.now += timedelta(**step)


class Ids:
    """UUIDs in an order that is the same in every run."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)

    def __call__(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128), version=4)


@dataclass
class Plans:
    """Makes plans; `url` starts the database only when one needs it."""

    folder: Path
    url: Callable[[], str]
    clock: Clock
    ids: Callable[[], uuid.UUID]
    opened: list[Tasks] = field(default_factory=list)

    def location(self, kind: str, name: str = "tasks") -> Location:
        if kind == "postgresql":
            schema = f"tasky_{uuid.uuid5(uuid.NAMESPACE_URL, str(self.folder / name)).hex}"
            return Location(kind, url=self.url(), schema=schema)
        return Location(kind, self.folder / f"{name}.{kind}")

    def open(self, kind: str, name: str = "tasks", **plan: Any) -> Tasks:
        store = open_store(self.location(kind, name))
        tasks = Tasks(store, Plan(name="Test", **plan), clock=self.clock, new_id=self.ids)
        self.opened.append(tasks)
        return tasks

    def close(self) -> None:
        for tasks in self.opened:
            tasks.close()


class Searched:
    """A plan that nobody writes to any more: what is searched for again, it remembers. To compare
    other stores with JSON in many ways, JSON is asked once."""

    def __init__(self, plan: Tasks) -> None:
        self._plan = plan
        self._found: dict[str, Page] = {}

    def search(self, wanted: Search, caller: Caller) -> Page:
        asked = repr((wanted, caller))
        if asked not in self._found:
            self._found[asked] = self._plan.search(wanted, caller)
        return self._found[asked]

    def close(self) -> None:
        self._plan.close()


def write_pairs(location: Location, start: int, confirmed: Connection) -> None:
    """Write pairs of tasks for ever, one bulk call each, and tell each number once it is kept."""
    tasks = Tasks(open_store(location), Plan(name="Kill"))
    number = start
    before: list[str] = []
    while True:
        made = tasks.create([{"name": f"pair {number} {side}"} for side in "ab"], ME)
        if before:
            priority = number % 5 + 1
            operations = [
                {"task_id": task_id, "action": "update", "priority": priority} for task_id in before
            ]
            tasks.edit(operations, ME)
        before = [str(view["task_id"]) for view in made]
        confirmed.send(number)
        number += 1


def create(tasks: Tasks, *names: str, **fields: Any) -> list[str]:
    """Create tasks of these names and return their ids."""
    made = tasks.create([{"name": name, **fields} for name in names], ME)
    return [str(view["task_id"]) for view in made]


def edit(tasks: Tasks, action: str, task_id: str = "", **fields: Any) -> dict[str, Any]:
    """Do one operation and return its one result."""
    given = {"task_id": task_id} if task_id else {}
    (view,) = tasks.edit([{**given, "action": action, **fields}], ME)
    return view


def get(tasks: Tasks, task_id: str) -> dict[str, Any]:
    (view,) = tasks.get([task_id])
    return view


def everything(tasks: Tasks) -> list[dict[str, Any]]:
    """Return all tasks in full."""
    ids: list[str] = []
    cursor = None
    while True:
        page = tasks.search(Search(limit=200, cursor=cursor), ME)
        ids += [str(row["task_id"]) for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    return [view for at in range(0, len(ids), 200) for view in tasks.get(ids[at : at + 200])]


def names(tasks: Tasks, caller: Caller = ME, **search: Any) -> list[str]:
    """Return the names on the first page of a search."""
    return [str(row["name"]) for row in tasks.search(Search(**search), caller).rows]


def refusal(work: Callable[[], object]) -> TaskyError:
    """Return the error that the work must end in."""
    with pytest.raises(TaskyError) as caught:
        work()
    return caught.value


def items(error: TaskyError) -> list[dict[str, Any]]:
    """Return the failing items of a bulk call."""
    found = error.details["items"]
    assert isinstance(found, Sequence)
    return [dict(item) for item in found]  # type: ignore[call-overload]
