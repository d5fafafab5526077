"""Any sequence of calls has the same answers on the JSON store, the SQLite store and the model."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from mcp_host_tasky.errors import TaskyError
from mcp_host_tasky.service import Caller, Search, Tasks
from tasky_lab import Clock, Ids, Plans, items
from tasky_model import Model, Refused

COMPARED = ["task_id", "name", "status", "priority", "due_date", "tags", "revision"]
COMPARED += ["blockers", "blocked_by", "blocks", "subtasks", "subtask_of"]
NAMES = st.sampled_from(["write report", "read report", "rewrite", "call anna", "Call Ben"])
PRIORITIES = st.integers(1, 5)
DUES = st.sampled_from([None, "2026-11-22", "2026-12-01"])
TAGS = st.lists(st.sampled_from(["home", "work"]), max_size=2)
CALLERS = st.sampled_from(["me", "ann"])
INDEX = st.integers(0, 30)
FEW = st.just([]) | st.lists(INDEX, max_size=2)
ACTIONS = ["undo", "undo", "update", "update", "complete", "cancel", "reopen", "delete"]
ACTIONS += ["claim", "release"]
SIZE = st.sampled_from([1, 1, 1, 2, 3])


def pick(known: list[str], indexes: list[int]) -> list[str]:
    return [known[index % len(known)] for index in indexes] if known else []


class Agreement(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        folder = Path(self._folder.name)
        self.plans = [Plans(folder, str, self.clock, Ids()) for _ in range(2)]
        pairs = zip(self.plans, ("sqlite", "json"), strict=True)
        self.stores: list[Tasks] = [plans.open(kind) for plans, kind in pairs]
        self.model = Model()
        self.known: list[str] = []

    def teardown(self) -> None:
        for plans in self.plans:
            plans.close()
        self._folder.cleanup()

    @property
    def now(self) -> int:
        return int(self.clock.now.timestamp())

    def both(self, work: Any) -> tuple[Any, int | None, str | None]:
        """Return what both stores answer: the result, or the first failing index and its reason."""
        answers = []
        for tasks in self.stores:
            try:
                answers.append((work(tasks), None, None))
            except TaskyError as error:
                first = items(error)[0]
                answers.append((None, first["index"], first["reason"]))
        plain = [(without_token(answer[0]), *answer[1:]) for answer in answers]
        assert plain[0] == plain[1]
        return answers[0]

    @rule(
        specs=st.lists(
            st.tuples(NAMES, PRIORITIES, DUES, TAGS, FEW, st.none() | st.none() | INDEX),
            min_size=1,
            max_size=3,
        )
    )
    def create(self, specs: list[Any]) -> None:
        targets = list(self.model.tasks) + [f"r{index}" for index in range(len(specs))]
        given = [
            {
                "ref": f"r{index}",
                "name": name,
                "priority": priority,
                "due_date": due,
                "tags": tags,
                "blockers": pick(targets, blockers),
                "subtask_of": pick(targets, [parent])[0] if parent is not None else None,
            }
            for index, (name, priority, due, tags, blockers, parent) in enumerate(specs)
        ]
        result, *refused = self.both(lambda tasks: tasks.create(given, Caller("me")))
        ids = (
            [view["task_id"] for view in result]
            if result
            else [f"new{i}" for i in range(len(given))]
        )
        self.expect(refused, lambda: self.model.create(ids, given, self.now))
        self.known += ids if result else []

    @initialize()
    def begin(self) -> None:
        blank = {"due_date": None, "tags": [], "blockers": [], "subtask_of": None}
        specs = [{"ref": name, "name": name, "priority": 3, **blank} for name in ("one", "two")]
        result, *_ = self.both(lambda tasks: tasks.create(specs, Caller("me")))
        self.known += [view["task_id"] for view in result]
        self.model.create(self.known, specs, self.now)

    @rule(data=st.data(), calls=st.integers(1, 6))
    def edit(self, data: st.DataObject, calls: int) -> None:
        for _ in range(calls):
            caller = data.draw(CALLERS)
            operations = [self.operation(data.draw) for _ in range(data.draw(SIZE))]
            _, *refused = self.both(lambda tasks: tasks.edit(operations, Caller(caller)))  # noqa: B023  called at once
            self.expect(refused, lambda: self.model.edit(operations, caller, self.now))  # noqa: B023  called at once
            self.tasks_agree()

    def operation(self, draw: Any) -> dict[str, Any]:
        action = draw(st.sampled_from(ACTIONS))
        if action == "undo":
            back = draw(st.none() | st.integers(0, 8))
            event_id = None if back is None else max(1, len(self.model.events) + 1 - back)
            return {"action": "undo"} | ({"event_id": event_id} if event_id else {})
        # Mostly a task that is there; now and then one that was deleted.
        known = self.known if draw(st.integers(0, 9)) == 0 else list(self.model.tasks) or self.known
        operation = {"action": action, "task_id": pick(known, [draw(INDEX)])[0]}
        if draw(st.integers(0, 9)) == 0:
            operation["if_revision"] = draw(st.integers(1, 3))
        return operation | (draw(self.updates()) if action == "update" else {})

    def updates(self) -> st.SearchStrategy[dict[str, Any]]:
        alive = list(self.model.tasks)
        some = FEW.map(lambda indexes: pick(alive, indexes))
        fields = {
            "name": NAMES,
            "priority": PRIORITIES,
            "due_date": st.sampled_from(["", "2026-11-23"]),
            "status": st.sampled_from(["pending", "completed", "cancelled"]),
            "tags": TAGS,
            "blockers": some,
            "subtask_of": INDEX.map(lambda index: pick([*alive, ""], [index])[0]),
        }
        return st.fixed_dictionaries({}, optional=fields).filter(bool)

    @rule(seconds=st.sampled_from([1, 1000]))
    def time_passes(self, seconds: int) -> None:
        self.clock.forward(seconds=seconds)

    @rule(
        caller=CALLERS,
        status=st.sampled_from([None, "pending", "completed"]),
        priority=st.none() | PRIORITIES,
        tags=TAGS,
        search=st.sampled_from([None, "rep", "call ann", "write"]),
        due_before=DUES,
        ready=st.booleans(),
        limit=st.integers(1, 3),
    )
    def search(self, caller: str, limit: int, **wanted: Any) -> None:
        found: list[str] = []
        cursor = None
        while True:
            asked = Search(**wanted, limit=limit, cursor=cursor)
            page, *_ = self.both(lambda tasks, asked=asked: tasks.search(asked, Caller(caller)))
            found += [row["task_id"] for row in page.rows]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == self.model.search(caller, self.now, **wanted)
        assert page.total == len(found)

    @invariant()
    def tasks_agree(self) -> None:
        ids = list(self.model.tasks)
        views, *_ = self.both(lambda tasks: tasks.get(ids[:200]))
        assert [{name: view[name] for name in COMPARED} for view in views] == [
            self.model.view(task_id) for task_id in ids[:200]
        ]
        counts = self.stores[0].info()["task_counts"]
        assert counts == self.stores[1].info()["task_counts"]
        assert sum(counts.values()) == len(ids)  # type: ignore[union-attr]
        histories = [tasks.history(limit=10_000) for tasks in self.stores]
        assert histories[0] == histories[1]
        assert len(histories[0]) == len(self.model.events)

    def expect(self, refused: list[Any], work: Any) -> None:
        """The model must refuse exactly what the stores refused, for the same reason."""
        try:
            work()
            said: list[Any] = [None, None]
        except Refused as refusal:
            first = min(refusal.reasons)
            said = [first, refusal.reasons[first]]
        assert refused == said


def without_token(answer: Any) -> Any:
    if isinstance(answer, list):
        return [{k: v for k, v in view.items() if k != "claim_token"} for view in answer]
    return answer


TestAgreement = Agreement.TestCase
TestAgreement.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
