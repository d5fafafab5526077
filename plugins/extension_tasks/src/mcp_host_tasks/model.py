"""A task: what is known of one call behind its handle."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
ENDED: tuple[Status, ...] = ("completed", "failed", "cancelled")
INTERRUPTED = "interrupted: the server that ran it ended"


@dataclass(frozen=True)
class Task:
    """One task; times are seconds since 1970.

    `whose` is the identity of the caller who began it, None for callers whom nothing tells apart.
    `owner` is the opening of an engine whose host runs it. `questions` are those that wait for an
    answer, and `answers` those that are there while others wait. `result` is that of the call,
    `error` the JSON-RPC error that it ended with.

    Invariants: it never changes: what happens makes another of the same `id`. Once it `has_ended`,
    there is no other.
    """

    id: str
    tool: str
    whose: str | None
    owner: str
    created: float
    updated: float
    expires: float
    poll: float
    status: Status = "working"
    message: str = ""
    rounds: int = 0
    questions: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.status in ENDED

    def summary(self) -> dict[str, Any]:
        """The task as the extension writes it, without what belongs to its status."""
        return {
            "taskId": self.id,
            "status": self.status,
            **({"statusMessage": self.message} if self.message else {}),
            "createdAt": _written(self.created),
            "lastUpdatedAt": _written(self.updated),
            "ttlMs": max(1, round(1000 * (self.expires - self.created))),
            "pollIntervalMs": max(1, round(1000 * self.poll)),
        }

    def detailed(self) -> dict[str, Any]:
        """The task with what belongs to its status."""
        told = self.summary()
        if self.status == "input_required":
            told["inputRequests"] = dict(self.questions)
        elif self.status == "completed":
            told["result"] = dict(self.result or {})
        elif self.status == "failed":
            told["error"] = dict(self.error or {})
        return told


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
