"""Who calls, and what they search for."""

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import PermissionDeniedError


class Actor(NamedTuple):
    """Whom one operation acts for: the name that is shown, and the key that proves it.

    An empty key proves nothing, and is nobody's: then only a token does.
    """

    name: str
    key: str

    @property
    def is_proven(self) -> bool:
        return self.key != ""


class Caller(NamedTuple):
    """Who calls. A token proves the `subject`, a session or a connection the `connection`; a name
    proves nothing, unless the caller is the person at this machine, who is known by it."""

    name: str
    subject: str | None = None
    connection: str | None = None
    is_proven: bool = True

    def acting(self, agent: str | None = None) -> Actor:
        """Return whom an operation acts for. A subject speaks for nobody else; a connection may
        have several agents, each of which is somebody of its own."""
        if self.subject is not None:
            if agent not in (None, self.subject):
                raise PermissionDeniedError(
                    f"You are {self.subject!r} and cannot act as {agent!r}.",
                    reason="agent_mismatch",
                    suggestions=["Leave agent out."],
                )
            return Actor(self.subject, f"subject:{self.subject}")
        if not self.is_proven:
            return Actor(agent or self.name, "")
        key = f"connection:{self.connection}" if self.connection else self.name
        return Actor(agent or self.name, f"{key}/{agent}" if agent else key)


class Search(NamedTuple):
    """A search as it was asked, dates still in the asker's words. `claimed_by` is a name, `me`, or
    `*` for anybody."""

    status: str | None = None
    search: str | None = None
    created_after: str | None = None
    due_before: str | None = None
    priority: int | None = None
    tags: Sequence[str] = ()
    ready: bool = False
    claimed_by: str | None = None
    waiting: bool = False
    sort: str | None = None
    limit: int | None = None
    cursor: str | None = None
