"""The user's own folders for this program, as platformdirs names them.

platformdirs is asked everywhere but on Linux with an ordinary environment: importing it takes
5 ms, a tenth of the time in which a client has its first answer.
"""

from __future__ import annotations

import os
import sys

PROGRAM = "mcp-host"


def cache() -> str:
    """Where what can be made anew is kept."""
    return _ordinary("XDG_CACHE_HOME", ".cache") or _platformdirs("user_cache_dir")


def data() -> str:
    """Where packs keep what they were given."""
    return _ordinary("XDG_DATA_HOME", ".local/share") or _platformdirs("user_data_dir")


def config() -> str:
    """Where settings are kept."""
    return _ordinary("XDG_CONFIG_HOME", ".config") or _platformdirs("user_config_dir")


def _ordinary(variable: str, usual: str) -> str | None:
    """By the XDG Base Directory Specification; None where more than that must be known."""
    home = os.environ.get(variable) or os.path.join(os.environ.get("HOME", ""), usual)
    is_plain = sys.platform == "linux" and home.startswith("/") and "ANDROID_ROOT" not in os.environ
    return os.path.join(home, PROGRAM) if is_plain else None


def _platformdirs(function: str) -> str:
    import platformdirs

    found: str = getattr(platformdirs, function)(PROGRAM)
    return found
