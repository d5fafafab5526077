"""What the programs that Tasky starts see of the environment."""

import os

# Where programs and folders are, who runs them, and the words they use: nothing that is secret.
_USUAL = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "PROGRAMDATA",
)
_BEGINNINGS = ("LC_", "XDG_")


def program_environment() -> dict[str, str]:
    """Return the variables that a program gets."""
    return {
        name: os.environ[name]
        for name in list(os.environ)
        if name.upper() in _USUAL or name.startswith(_BEGINNINGS)
    }
