"""What a distribution that brings a worker is told, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ..startup.dataclass import dataclass


@dataclass(frozen=True)
class WorkerPlace:
    """The pack that a worker is wanted for.

    `value` is what stands in [packs.X] at the worker's `key`, and `beside` what stands at further
    keys of the same distribution, secrets read; relative paths in them start at `folder`.
    """

    pack: str
    value: Any
    folder: Path
    key: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerProgram:
    """The program that is the pack's side: it speaks the border's messages on descriptor 3.

    `argv` is its command, with an absolute path first. `environment` is added to the host's own,
    from which every variable is taken that settings read as a secret.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerThread:
    """The pack's side as threads of the host, for one that hands on what programs of its own say.

    `serve` is called in a thread, with its end of the border. It is the code of the distribution
    alone: what others wrote runs in programs that the border starts.
    """

    serve: Callable[[Any], None]
    """Takes a `ThreadBorder`, and returns once it `hears` the host, or has refused to serve."""
