"""A plan as simple as can be, for stores to agree with: dicts in memory, whole copies for undo."""

import copy
from typing import Any

STATES = {"complete": "completed", "cancel": "cancelled", "reopen": "pending"}


class Refused(Exception):
    """The model's refusal: the reason of each failing item."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


class No(Exception):
    """One item's refusal."""


class Model:
    def __init__(self) -> None:
        self.tasks: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.stacks: dict[str, list[int]] = {}
        self.claims: dict[str, tuple[str, int]] = {}
        self.created = 0

    # Calls

    def create(self, ids: list[str], specs: list[dict[str, Any]], now: int) -> None:
        self._whole(lambda reasons: self._create(ids, specs, now, reasons))

    def edit(self, operations: list[dict[str, Any]], caller: str, now: int) -> None:
        self._whole(lambda reasons: self._edit(operations, caller, now, reasons))

    def _whole(self, work: Any) -> None:
        before = copy.deepcopy(self.__dict__)
        reasons: dict[int, str] = {}
        work(reasons)
        if reasons:
            self.__dict__ = before
            raise Refused(reasons)

    def _create(
        self, ids: list[str], specs: list[dict[str, Any]], now: int, reasons: dict[int, str]
    ) -> None:
        refs = {spec["ref"]: task_id for spec, task_id in zip(specs, ids, strict=True)}
        batch = len(self.events) + 1
        for index, (task_id, spec) in enumerate(zip(ids, specs, strict=True)):
            related = [refs.get(one, one) for one in spec["blockers"]]
            parent = refs.get(spec["subtask_of"], spec["subtask_of"])
            known = {*self.tasks, *ids}
            if not known.issuperset([*related, *([parent] if parent else [])]):
                reasons[index] = "task_not_found"
                continue
            self.created += 1
            task = {
                "task_id": task_id,
                "order": self.created,
                "name": spec["name"],
                "status": "pending",
                "priority": spec["priority"],
                "due_date": spec["due_date"],
                "tags": sorted(set(spec["tags"])),
                "blockers": sorted(set(related)),
                "subtask_of": parent,
                "revision": 1,
            }
            self._event(batch, index, "me", "create", task_id, None, task, now)
        for index, task_id in enumerate(ids):
            if index not in reasons and self._in_circle(task_id):
                reasons[index] = "cycle"

    def _edit(
        self, operations: list[dict[str, Any]], caller: str, now: int, reasons: dict[int, str]
    ) -> None:
        batch = len(self.events) + 1
        known = len(self.events)
        for index, operation in enumerate(operations):
            try:
                if operation["action"] == "undo":
                    self._undo(operation.get("event_id"), batch, index, caller, now, known)
                else:
                    self._operate(operation, batch, index, caller, now)
            except No as no:
                reasons[index] = str(no)

    def _operate(
        self, operation: dict[str, Any], batch: int, index: int, caller: str, now: int
    ) -> None:
        task_id, action = operation["task_id"], operation["action"]
        if task_id not in self.tasks:
            raise No("task_not_found")
        task = self.tasks[task_id]
        if operation.get("if_revision", task["revision"]) != task["revision"]:
            raise No("stale_revision")
        if action == "delete":
            self._fence(task_id, caller, now)
            for other in sorted(self.tasks):
                self._detach(other, task_id, batch, index, caller, now)
            self._event(batch, index, caller, "delete", task_id, task, None, now)
        elif action == "claim":
            self._claim(task, caller, now)
        elif action == "release":
            self._release(task_id, caller, now)
        else:
            fields = {k: v for k, v in operation.items() if k in task and k != "task_id"}
            if action in STATES:
                fields = {"status": STATES[action]}
            self._change(task_id, action, fields, batch, index, caller, now)

    def _change(
        self, task_id: str, action: str, fields: dict[str, Any], batch: int, index: int,
        caller: str, now: int,
    ) -> None:  # fmt: skip
        task = self.tasks[task_id]
        fields = dict(fields)
        status = fields.get("status", task["status"])
        if status != task["status"] and "pending" not in (status, task["status"]):
            raise No("invalid_transition")
        if "tags" in fields:
            fields["tags"] = sorted(set(fields["tags"]))
        if "blockers" in fields:
            fields["blockers"] = sorted(set(fields["blockers"]))
            if not set(fields["blockers"]) <= self.tasks.keys():
                raise No("task_not_found")
        if "subtask_of" in fields:
            fields["subtask_of"] = fields["subtask_of"] or None
            if fields["subtask_of"] not in (None, *self.tasks):
                raise No("task_not_found")
        if "due_date" in fields:
            fields["due_date"] = fields["due_date"] or None
        if task["status"] == "pending" != status:
            self._fence(task_id, caller, now)
        after = {**task, **fields}
        if after == task:
            return
        after["revision"] = task["revision"] + 1
        related = (task["blockers"], task["subtask_of"]) != (after["blockers"], after["subtask_of"])
        self._event(batch, index, caller, action, task_id, task, after, now)
        if related and self._in_circle(task_id):
            raise No("cycle")

    def _detach(self, other: str, gone: str, batch: int, index: int, caller: str, now: int) -> None:
        task = self.tasks[other]
        if gone in task["blockers"] or task["subtask_of"] == gone:
            after = {
                **task,
                "blockers": [one for one in task["blockers"] if one != gone],
                "subtask_of": None if task["subtask_of"] == gone else task["subtask_of"],
                "revision": task["revision"] + 1,
            }
            self._event(batch, index, caller, "update", other, task, after, now)

    def _event(
        self, batch: int, item: int, caller: str, action: str, task_id: str,
        before: dict[str, Any] | None, after: dict[str, Any] | None, now: int,
    ) -> None:  # fmt: skip
        self.events.append(
            {"batch": batch, "item": item, "caller": caller, "action": action, "task_id": task_id}
            | {"before": before, "after": after, "undone": 0}
        )
        self.stacks.setdefault(task_id, []).append(len(self.events))
        self._put(task_id, after)

    def _put(self, task_id: str, task: dict[str, Any] | None) -> None:
        if task is None:
            del self.tasks[task_id]
        else:
            self.tasks[task_id] = task
        if task is None or task["status"] != "pending":
            self.claims.pop(task_id, None)

    # Claims

    def _fence(self, task_id: str, caller: str, now: int) -> None:
        """What somebody else holds is not ended."""
        holder, until = self.claims.get(task_id, (caller, 0))
        if holder != caller and until > now:
            raise No("claimed")

    def _claim(self, task: dict[str, Any], caller: str, now: int) -> None:
        task_id = task["task_id"]
        if task["status"] != "pending":
            raise No("not_open")
        holder, until = self.claims.get(task_id, (caller, 0))
        if holder != caller and until > now:
            raise No("claimed")
        # Claiming anew what one still holds is no news; otherwise it is an event of its own.
        self.claims[task_id] = (caller, now + 900)
        if not (holder == caller and until > now):
            self.tasks[task_id] = {**task, "revision": task["revision"] + 1}
            self._note("claim", task_id, caller)

    def _release(self, task_id: str, caller: str, now: int) -> None:
        if task_id not in self.claims:
            return
        holder, until = self.claims[task_id]
        if holder == caller:
            del self.claims[task_id]
            self._note("release", task_id, caller)
        elif until > now:
            raise No("not_claimant")

    def _note(self, action: str, task_id: str, caller: str) -> None:
        self.events.append({"action": action, "task_id": task_id, "caller": caller, "undone": 0})
        self.events[-1] |= {"batch": 0, "item": 0}

    # Undo

    def _undo(
        self, event_id: int | None, batch: int, index: int, caller: str, now: int, known: int
    ) -> None:
        numbered = list(enumerate(self.events[:known], 1))
        undoable = [(n, e) for n, e in numbered if e["action"] not in ("claim", "release", "undo")]
        if event_id is None:
            last = [
                e["batch"]
                for _, e in undoable
                if e["caller"] == caller and not self._was_undone(e, known)
            ]
            if not last:
                raise No("nothing_to_undo")
            chosen = [(n, e) for n, e in undoable if e["batch"] == last[-1]]
        else:
            if event_id > known:
                raise No("event_not_found")
            event = self.events[event_id - 1]
            if self._was_undone(event, known):
                raise No("already_undone")
            if event["action"] in ("claim", "release", "undo"):
                raise No("cannot_undo")
            chosen = [
                (n, e) for n, e in undoable
                if (e["batch"], e["item"]) == (event["batch"], event["item"])
            ]  # fmt: skip
        chosen = [(n, e) for n, e in chosen if not self._was_undone(e, known)]
        for number, event in reversed(chosen):
            self._take_back(number, event, batch, index, caller, now)
        for task_id in dict.fromkeys(event["task_id"] for _, event in chosen):
            self._check(task_id)

    def _was_undone(self, event: dict[str, Any], known: int) -> bool:
        """Whether an earlier call took it back; this very call is not kept yet."""
        return 0 < event["undone"] <= known

    def _take_back(
        self, number: int, event: dict[str, Any], batch: int, index: int, caller: str, now: int
    ) -> None:
        task_id = event["task_id"]
        stack = self.stacks[task_id]
        if not stack or stack[-1] != number or event["undone"]:
            raise No("changed_since")
        stack.pop()
        current = self.tasks.get(task_id) or event["before"]
        before = event["before"]
        if event["after"] is None:
            restored = {**before, "revision": before["revision"] + 1}
        elif before is None:
            restored = None
        else:
            restored = {**before, "revision": current["revision"] + 1}
        event["undone"] = len(self.events) + 1
        self.events.append(
            {"batch": batch, "item": index, "caller": caller, "action": "undo"}
            | {"task_id": task_id, "undone": 0}
        )
        was_open = task_id in self.tasks and self.tasks[task_id]["status"] == "pending"
        if was_open and (restored is None or restored["status"] != "pending"):
            self._fence(task_id, caller, now)
        self._put(task_id, restored)

    def _check(self, task_id: str) -> None:
        task = self.tasks.get(task_id)
        if task is None:
            for other in self.tasks.values():
                if task_id in other["blockers"] or other["subtask_of"] == task_id:
                    raise No("changed_since")
            return
        related = [*task["blockers"], *([task["subtask_of"]] if task["subtask_of"] else [])]
        if not set(related) <= self.tasks.keys():
            raise No("changed_since")
        if self._in_circle(task_id):
            raise No("cycle")

    # Questions

    def _in_circle(self, task_id: str) -> bool:
        return any(
            task_id in self._reachable(step, task_id)
            for step in (
                lambda task: task["blockers"],
                lambda task: [task["subtask_of"]] if task["subtask_of"] else [],
            )
        )

    def _reachable(self, step: Any, start: str) -> set[str]:
        seen: set[str] = set()
        ahead = list(step(self.tasks[start]))
        while ahead:
            here = ahead.pop()
            if here not in seen:
                seen.add(here)
                if here in self.tasks:
                    ahead += step(self.tasks[here])
        return seen

    def view(self, task_id: str) -> dict[str, Any]:
        task = self.tasks[task_id]
        others = sorted(self.tasks.values(), key=lambda one: one["task_id"])
        shown = {k: v for k, v in task.items() if k != "order"}
        return shown | {
            "blocked_by": [b for b in task["blockers"] if self.tasks[b]["status"] == "pending"],
            "blocks": [one["task_id"] for one in others if task_id in one["blockers"]],
            "subtasks": [one["task_id"] for one in others if one["subtask_of"] == task_id],
        }

    def search(self, caller: str, now: int, **wanted: Any) -> list[str]:
        def fits(task: dict[str, Any]) -> bool:
            words = task["name"].lower().split()
            holder, until = self.claims.get(task["task_id"], (caller, 0))
            free = holder == caller or until <= now
            blocked = any(self.tasks[b]["status"] == "pending" for b in task["blockers"])
            return (
                wanted.get("status") in (None, task["status"])
                and wanted.get("priority") in (None, task["priority"])
                and set(wanted.get("tags", ())) <= set(task["tags"])
                and all(
                    any(word.startswith(said) for word in words)
                    for said in (wanted.get("search") or "").split()
                )
                and (
                    not wanted.get("due_before")
                    or bool(task["due_date"] and task["due_date"] <= wanted["due_before"])
                )
                and (
                    not wanted.get("ready")
                    or (
                        task["status"] == "pending"
                        and not blocked
                        and free
                        and not self._held_up(task)
                    )
                )
            )

        found = [task for task in self.tasks.values() if fits(task)]
        found.sort(key=lambda t: (-t["priority"], t["due_date"] or "9999", t["order"]))
        return [task["task_id"] for task in found]

    def _held_up(self, task: dict[str, Any]) -> bool:
        """Whether one of those that it is part of waits for a task outside of itself."""
        above = [self.tasks[one] for one in self._above(task)]
        return any(
            parent["status"] == "pending"
            and any(
                self.tasks[blocker]["status"] == "pending"
                and parent["task_id"] not in self._above(self.tasks[blocker])
                for blocker in parent["blockers"]
            )
            for parent in above
        )

    def _above(self, task: dict[str, Any]) -> list[str]:
        found = []
        while task["subtask_of"]:
            found.append(task["subtask_of"])
            task = self.tasks[task["subtask_of"]]
        return found
