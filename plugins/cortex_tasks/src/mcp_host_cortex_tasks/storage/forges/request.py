"""A pull request, as every forge tells of one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A request to merge a branch into `base`; `head` is the last commit it holds.

    `landed` is the commit of `base` that brought it, `refs` where the forge's git has its head.
    """

    number: int
    url: str
    head: str
    base: str
    open: bool
    merged: bool
    landed: str | None = None
    refs: tuple[str, ...] = ()
