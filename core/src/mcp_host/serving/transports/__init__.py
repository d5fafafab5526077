"""How clients reach the host: standard input and output, and streamable HTTP.

A new transport is a module with a `Transport`, a function that makes it, and a row in `TRANSPORTS`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .transport import Transport


def _stdio() -> Transport:
    if sys.platform == "win32":  # whose pipes cannot be polled
        from .windows import WindowsStdio

        return WindowsStdio()
    from .stdio import Stdio

    return Stdio()


def _http() -> Transport:
    from .http import Http

    return Http()


TRANSPORTS: dict[str, Callable[[], Transport]] = {"stdio": _stdio, "http": _http}
"""What makes each transport, by its name; only the one that is chosen is imported."""
