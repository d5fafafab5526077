"""A command's plan: steps found necessary by looking first, then done one by one in the journal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..errors import BusyError, CortexError, PendingError, TimedOutError, UnavailableError
from ..storage.journal import Entry, Journal, Step, Turn, this_process

REACHING_OUT = frozenset(
    (
        *("push", "pull_request", "retarget", "delete_remote", "claim", "release"),
        *("status", "new", "edit", "comment", "delete"),
    )
)
"""The steps that run a push's hooks or go over the network: nobody waits for them."""
Refs = Mapping[str, str | None]
Act = Callable[[], Refs | None]


@dataclass(slots=True)
class Plan:
    """What one command will do about one task.

    Nothing is changed while planning, so a refusal then leaves everything as it was.
    """

    command: str
    task_id: int
    branch: str | None = None
    steps: list[tuple[Step, Act]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept: list[dict[str, object]] = field(default_factory=list)
    facts: dict[str, str | None] = field(default_factory=dict)

    def add(self, name: str, what: str, act: Act, *, before: Refs, after: Refs) -> None:
        """Add a step: `act` does it and may return more of what it led to."""
        self.steps.append((Step(name, what, dict(before), dict(after)), act))

    @property
    def sentences(self) -> list[str]:
        """What would be done, for `--dry-run`."""
        return [step.what for step, _ in self.steps]

    @property
    def left(self) -> list[str]:
        """The names of the steps that are not done."""
        return [step.name for step, _ in self.steps if not step.done]

    def carry_out(self, journal: Journal, turn: Turn) -> Entry:
        """Do the steps in order, each in the journal before and after.

        A step that reaches out is done while no lock is held.
        A service out of reach after something was done raises `PendingError`; other errors pass
        with `done` and `pending` in its details.
        """
        entry = self._entry(journal)
        entry.steps += [step for step, _ in self.steps]
        for step, act in self.steps:
            journal.keep(entry)
            try:
                if step.name in REACHING_OUT:
                    turn.leave()
                else:
                    turn.take()
                step.after.update(act() or {})
            except CortexError as error:
                if not any(earlier.done for earlier in entry.steps) and not error.retryable:
                    journal.forget(entry)  # it was refused: nothing happened
                raise self._interrupted(error, entry) from error
            step.done = True
        entry.finished = True
        if entry.steps:
            journal.keep(entry)
        return entry

    def _entry(self, journal: Journal) -> Entry:
        """Return a new entry, or the unfinished one of this work, so that both undo as one."""
        last = journal.interrupted(self.command, self.task_id)
        if last is None:
            last = journal.begin(self.command, self.task_id, self.branch)
        last.process = this_process()
        last.steps = _kept(last.steps, {step.name for step, _ in self.steps})
        last.facts.update(self.facts)
        return last

    def _interrupted(self, error: CortexError, entry: Entry) -> CortexError:
        done = [step.what for step in entry.steps if step.done]
        facts = {"done": done, "pending": entry.pending, "task_id": self.task_id}
        if self.branch is not None:
            facts["branch"] = self.branch
        again = f"start {self.task_id}" if self.command == "start" else self.command
        if done and isinstance(error, UnavailableError | TimedOutError | BusyError):
            return PendingError(
                f"{error.message} What is still to do: {'; '.join(entry.pending)}.",
                suggestions=[
                    f"Run this again to finish it: ctx tasks {again}",
                    *error.suggestions,
                ],
                details={**error.details, **facts, "reason": "pending", "cause": error.reason},
            )
        for name, fact in facts.items():
            error.details.setdefault(name, fact)
        return error


def _kept(steps: list[Step], planned_again: set[str]) -> list[Step]:
    """Return the steps of an interrupted run that hold: those done, and the one that was under way
    when it turns out not to be needed any more."""
    kept = [step for step in steps if step.done]
    under_way = next((step for step in steps if not step.done), None)
    if under_way is not None and under_way.name not in planned_again:
        under_way.done = True
        kept.append(under_way)
    return kept
