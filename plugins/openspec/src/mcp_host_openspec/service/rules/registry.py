"""A rule: a number, a level, and the one function that looks for what is wrong."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from ...model.findings import Finding, Level

S = TypeVar("S")


class Flaw(NamedTuple):
    """One place where a rule is broken."""

    path: str
    """A file relative to the item, or the part of the document: `requirements[2].scenarios`."""
    message: str
    line: int | None = None
    """1-based."""


class Rule(NamedTuple, Generic[S]):
    """A rule that validation applies to subjects of one kind; calling it gives its findings."""

    number: str
    level: Level
    about: str
    """What is wrong, in a few words, as the table of rules says it."""
    check: Callable[[S], Iterable[Flaw]]

    def __call__(self, subject: S) -> Iterator[Finding]:
        """What is wrong with the subject by this rule."""
        for flaw in self.check(subject):
            yield Finding(self.number, self.level, flaw.path, flaw.message, flaw.line)


def rule(
    number: str, level: Level, about: str
) -> Callable[[Callable[[S], Iterable[Flaw]]], Rule[S]]:
    """Make a function a rule of this number and level."""
    return lambda check: Rule(number, level, about, check)
