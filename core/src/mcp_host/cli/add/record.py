"""What `add` has brought into this environment, so that `remove` takes it back."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from ...startup.trust import write_atomically
from .environment import normal

FILE = "mcp-host-added.json"


def read() -> dict[str, list[str]]:
    """The distributions that each added one has brought with it; none where nothing was added."""
    try:
        told: Any = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def keep(distribution: str, brought: list[str]) -> None:
    """Note that a distribution was added, and what came with it."""
    _write({**read(), normal(distribution): sorted(brought)})


def forget(distribution: str) -> None:
    """Note that a distribution is gone again."""
    _write({name: with_it for name, with_it in read().items() if name != normal(distribution)})


def not_needed(distribution: str) -> list[str]:
    """The distribution, and of what it brought that which nothing else that stays needs."""
    going = {normal(distribution), *read().get(normal(distribution), ())}
    while True:
        needed = {
            normal(found[0])
            for one in metadata.distributions()
            if one.name and normal(one.name) not in going
            for text in one.requires or ()
            if "extra ==" not in text and (found := re.match(r"[\w.-]+", text))
        }
        staying = going & needed - {normal(distribution)}
        if not staying:
            return sorted(going)
        going -= staying


def _file() -> Path:
    return Path(sys.prefix, FILE)


def _write(data: dict[str, list[str]]) -> None:
    write_atomically(_file(), json.dumps(data, indent=2).encode(), 0o644)
