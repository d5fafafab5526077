"""How often a write asks its store: as often for fifty tasks as for five, since each question is a
message where the store is far away."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from mcp_host_tasky.errors import TaskyError
from mcp_host_tasky.service import Plan, Tasks
from mcp_host_tasky.storage import Guard, no_guard, open_store
from tasky_lab import ME, Plans

MANY = 60


class CountedStore:
    """A store that counts the questions of all who read and write in it."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.questions: list[str] = []
        self.kind = store.kind

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[Any]:
        with self._store.read(guard) as view:
            yield _Counted(view, self.questions)

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[Any]:
        with self._store.write(guard) as view:
            yield _Counted(view, self.questions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Counted:
    def __init__(self, view: Any, questions: list[str]) -> None:
        self._view = view
        self._questions = questions

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._view, name)

        def asked(*given: Any, **more: Any) -> Any:
            self._questions.append(name)
            return method(*given, **more)

        return asked


def _acts(action: str) -> Callable[[list[str]], list[dict[str, Any]]]:
    return lambda ids: [{"action": action, "task_id": one} for one in ids]


EDITS: dict[str, Callable[[list[str]], list[dict[str, Any]]]] = {
    "set their parents": lambda ids: [
        {"action": "update", "task_id": one, "subtask_of": other}
        for one, other in zip(ids[MANY:], ids, strict=False)
    ],
    "add blockers": lambda ids: [
        {"action": "update", "task_id": one, "add_blockers": [other]}
        for one, other in zip(ids[MANY:], ids, strict=False)
    ],
    "add blockers to what waits": lambda ids: [
        {"action": "update", "task_id": one, "add_blockers": [other]}
        for one, other in zip(ids[MANY + 1 :: 2], ids, strict=False)
    ],
    "replace blockers": lambda ids: [
        {"action": "update", "task_id": one, "blockers": [other], "discovered_from": other}
        for one, other in zip(ids[MANY:], ids, strict=False)
    ],
    "complete": _acts("complete"),
    "claim": _acts("claim"),
    "delete": _acts("delete"),
}
SAID: dict[str, Callable[[str], str]] = {
    "whole ids": str,
    "beginnings of ids": lambda task_id: task_id[:8],
    "ids in capitals, without hyphens": lambda task_id: task_id.replace("-", "").upper(),
}
UNDONE = [name for name in EDITS if name != "claim"]


@pytest.fixture
def store(plans: Plans) -> CountedStore:
    return CountedStore(open_store(plans.location("sqlite")))


@pytest.fixture
def tasks(store: CountedStore) -> Iterator[Tasks]:
    tasks = Tasks(store, Plan(name="bulks"))
    yield tasks
    tasks.close()


def made(tasks: Tasks) -> list[str]:
    """Make tasks in chains of blockers of three, and as parts of each other, three levels deep."""
    items: list[dict[str, Any]] = []
    for number in range(3 * MANY):
        item: dict[str, Any] = {"name": f"task {number}", "ref": str(number)}
        if number >= MANY:
            item["blockers" if number % 2 else "subtask_of"] = (
                [str(number - MANY)] if number % 2 else str(number - MANY)
            )
        items.append(item)
    return [str(view["task_id"]) for view in tasks.create(items, ME)]


def few_and_many(store: CountedStore, ask: Callable[[int], object]) -> tuple[list[str], list[str]]:
    """Return what the store was asked for a call with five tasks, and for one with many."""
    found = []
    for count in (5, MANY):
        store.questions.clear()
        ask(count)
        found.append(list(store.questions))
    return found[0], found[1]


@pytest.mark.parametrize("say", SAID.values(), ids=SAID)
def test_new_tasks_with_relations_are_asked_for_together(
    tasks: Tasks, store: CountedStore, say: Callable[[str], str]
) -> None:
    ids = [say(one) for one in made(tasks)]

    def create(count: int) -> None:
        items = [
            {"name": "new", "blockers": [ids[n], ids[n + MANY]], "subtask_of": ids[n + 2 * MANY]}
            for n in range(count)
        ]
        tasks.create(items, ME)

    few, many = few_and_many(store, create)

    assert len(many) == len(few)


@pytest.mark.parametrize("say", SAID.values(), ids=SAID)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edits_of_many_tasks_ask_for_them_together(
    tasks: Tasks,
    store: CountedStore,
    edit: Callable[[list[str]], list[dict[str, Any]]],
    say: Callable[[str], str],
) -> None:
    ids = [say(one) for one in made(tasks)]
    operations = edit(ids)

    def work(count: int) -> None:
        part = operations[:5] if count == 5 else operations[5 : 5 + MANY - 10]
        tasks.edit(part, ME)

    few, many = few_and_many(store, work)

    # A walk to where a circle could be may take a step more.
    assert len(many) <= len(few) + 2


@pytest.mark.parametrize("say", SAID.values(), ids=SAID)
def test_tasks_that_are_got_are_asked_for_together(
    tasks: Tasks, store: CountedStore, say: Callable[[str], str]
) -> None:
    ids = made(tasks)

    def get(count: int) -> None:
        found = tasks.get([say(one) for one in ids[:count]])
        assert [view["task_id"] for view in found] == ids[:count]

    few, many = few_and_many(store, get)

    assert len(many) == len(few)


@pytest.mark.parametrize("edit", [EDITS[name] for name in UNDONE], ids=UNDONE)
def test_an_undo_of_many_edits_asks_for_them_together(
    tasks: Tasks, store: CountedStore, edit: Callable[[list[str]], list[dict[str, Any]]]
) -> None:
    ids = made(tasks)
    operations = edit(ids)

    def work(count: int) -> None:
        part = operations[:5] if count == 5 else operations[5 : 5 + MANY - 10]
        tasks.edit(part, ME)
        store.questions.clear()
        tasks.edit([{"action": "undo"}], ME)

    few, many = few_and_many(store, work)

    assert len(many) <= len(few) + 2


def test_what_a_task_waits_for_already_is_not_walked_once_more(
    tasks: Tasks, store: CountedStore
) -> None:
    ids = made(tasks)
    waiting = ids[MANY + 1 :: 2]

    store.questions.clear()
    tasks.edit(
        [{"action": "update", "task_id": one, "subtask_of": ids[0]} for one in waiting]
        + [{"action": "update", "task_id": one, "remove_blockers": [ids[1]]} for one in waiting],
        ME,
    )

    assert not {"upstream", "downstream"} & {*store.questions}


def test_a_relation_that_is_put_back_in_one_bulk_is_looked_at_anew(tasks: Tasks) -> None:
    first, second = (
        str(view["task_id"])
        for view in tasks.create(
            [{"name": "first"}, {"name": "second", "ref": "2", "blockers": []}], ME
        )
    )
    tasks.edit([{"action": "update", "task_id": second, "add_blockers": [first]}], ME)

    with pytest.raises(TaskyError) as refused:
        tasks.edit(
            [
                {"action": "update", "task_id": second, "remove_blockers": [first]},
                {"action": "update", "task_id": first, "add_blockers": [second]},
                {"action": "update", "task_id": second, "add_blockers": [first]},
            ],
            ME,
        )

    assert "wait for itself" in str(refused.value)
    assert tasks.get([first])[0]["blockers"] == []
