"""The claims of a JSON plan: a small file that all worktrees of a repository share."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..model import Claim, Task
from .journal import put, sync_folder
from .json_task import corrupt, dumps


class Held(NamedTuple):
    """How often a task was claimed, and the claim that it has."""

    claims: int
    claim: Claim | None

    @classmethod
    def of(cls, task: Task | None) -> "Held":
        return cls(task.claims, task.claim) if task else NONE


NONE = Held(0, None)


class ClaimsFile:
    """Claims by task. Who writes holds the lock that the worktrees share."""

    def __init__(self, path: Path, like: Path) -> None:
        self.path = path
        self._like = like

    def read(self) -> dict[str, Held]:
        try:
            data = json.loads(self.path.read_text("utf-8"))
            return {key: _held(one) for key, one in data["claims"].items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise corrupt(self.path, str(error)) from error

    def write(self, claims: Mapping[str, Held]) -> None:
        lines = (
            f"{dumps(key)}: {dumps([held.claims, *_fields(held.claim)])}"
            for key, held in sorted(claims.items())
        )
        put(self.path, '{"claims": {\n' + ",\n".join(lines) + "\n}}\n", self._like)
        sync_folder(self.path.parent)


def _fields(claim: Claim | None) -> list[str]:
    return [claim.claimant, claim.token, claim.until, claim.holder] if claim else []


def _held(data: list[Any]) -> Held:
    return Held(data[0], Claim(*data[1:]) if data[1:] else None)
