"""Who calls and what they search for: all of the service that a pack which is only listed needs."""

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import Denied


class Caller(NamedTuple):
    """Who calls: `subject` is proven by the connection, `name` is only how the client is known."""

    name: str
    subject: str | None = None

    def identity(self, agent: str | None) -> str:
        """Return whom an operation acts for; a proven caller speaks for nobody else."""
        if self.subject is not None:
            if agent not in (None, self.subject):
                raise Denied(
                    f"You are {self.subject!r} and cannot act as {agent!r}.",
                    reason="agent_mismatch",
                    suggestions=["Leave agent out."],
                )
            return self.subject
        return agent or self.name


class Search(NamedTuple):
    """A search as it was asked, dates still in the asker's words."""

    status: str | None = None
    search: str | None = None
    created_after: str | None = None
    due_before: str | None = None
    priority: int | None = None
    tags: Sequence[str] = ()
    ready: bool = False
    limit: int | None = None
    cursor: str | None = None
