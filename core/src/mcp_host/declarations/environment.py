"""The environment of the session that a piece of work is done for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar

session_environment: ContextVar[Mapping[str, str] | None] = ContextVar(
    "session_environment", default=None
)
"""The variables of the session that is served; None where the process serves one alone."""


def environment() -> Mapping[str, str]:
    """Return the variables that programs started now are to see."""
    own = session_environment.get()
    return os.environ if own is None else own
