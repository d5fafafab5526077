"""What the commands share: the work at hand, the journal of what concerns no repository."""

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..errors import CortexError, TimedOutError, UnavailableError
from ..service.work import Work
from ..storage.config import Config
from ..storage.journal import Step
from .answer import Answer, say


def work_of(given: argparse.Namespace, config: Config) -> Work:
    """Return the work at hand: the folder, the settings, and whose session it is."""
    return Work(
        config,
        Path.cwd(),
        getattr(given, "dry_run", False),
        os.environ.get("CORTEX_SESSION") or None,
        room=os.environ.get("CORTEX_WORKTREE") or None,
        keep=getattr(given, "keep", False),
    )


def note(
    work: Work,
    command: str,
    number: int,
    what: str,
    before: dict[str, str | None] | None = None,
    after: dict[str, str | None] | None = None,
) -> None:
    """Put what concerns no repository into the journal, for `ctx undo`."""
    entry = work.own_journal.begin(command, number)
    entry.steps.append(Step(command, what, before or {}, after or {}, done=True))
    entry.finished = True
    work.own_journal.keep(entry)


@contextmanager
def noting(
    work: Work,
    command: str,
    number: int,
    what: str,
    before: dict[str, str | None] | None = None,
    after: dict[str, str | None] | None = None,
) -> Iterator[bool]:
    """Put what the body asks of the backend into the journal, for `ctx undo`; yield whether an
    earlier run asked for it and heard no answer.

    It stands there before it is asked for, since its answer may be lost on the way.
    """
    journal = work.own_journal
    earlier = journal.interrupted(command, number)
    entry = journal.begin(command, number) if earlier is None else earlier
    step = Step(command, what, before or {}, after or {})
    if not (entry.steps and entry.steps[0].after == step.after):
        entry.steps = [step]
    journal.keep(entry)
    try:
        yield earlier is not None
    except CortexError as error:
        is_unknown = isinstance(error, UnavailableError | TimedOutError) and error.retryable
        if earlier is None and not is_unknown:
            journal.forget(entry)  # it was refused: nothing happened
        raise
    entry.steps[0].done = entry.finished = True
    journal.keep(entry)


def would(data: Mapping[str, object], what: list[str]) -> Answer:
    """Return the answer of a dry run."""
    lines = [f"Would {one}" for one in what] or ["There is nothing to do."]
    return Answer({**data, "dry_run": True, "would": what}, say(*lines))


def plain(value: object) -> str | None:
    """Return a value as the journal has it."""
    return None if value is None else str(value)
