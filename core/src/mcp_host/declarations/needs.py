"""What a pack needs of the process around it: variables, and whether sessions may share it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from ..startup.dataclass import dataclass
from .errors import DeclarationError

Sessions: TypeAlias = Literal["shared", "apart"]

USUAL_VARIABLES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_*",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "PROGRAMDATA",
)
"""Variables that nearly every program reads: all programs get them, no pack need declare them."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")


@dataclass(frozen=True)
class Needs:
    """What a pack needs of the process that it lives in.

    `reads_environment` names the variables that the pack reads, and `child_environment` those that
    its programs get besides the usual ones; a name that ends with `*` stands for all that begin so.
    None as `reads_environment` says nothing, `()` says that it reads none. `sessions` is "apart"
    where one opened pack must not serve the sessions of several clients. `changes_lists` says that
    it offers and withdraws entries of lists while it serves.
    """

    reads_environment: Sequence[str] | None = None
    child_environment: Sequence[str] = ()
    sessions: Sessions | None = None
    changes_lists: bool = False

    def __post_init__(self) -> None:
        if self.reads_environment is not None:
            names = _names("reads_environment", self.reads_environment)
            object.__setattr__(self, "reads_environment", names)
        children = _names("child_environment", self.child_environment)
        object.__setattr__(self, "child_environment", children)
        if self.sessions not in (None, "shared", "apart"):
            raise DeclarationError(
                f"sessions must be 'shared' or 'apart', or left out, not {self.sessions!r}"
            )
        if self.sessions == "shared" and self.reads_environment is None:
            raise DeclarationError(
                "sessions may be 'shared' only where reads_environment is declared; "
                "a pack that reads no variable declares ()"
            )

    @property
    def may_share(self) -> bool:
        """Whether one opened pack may serve sessions that have come from several clients."""
        return self.reads_environment is not None and self.sessions != "apart"

    @property
    def environment(self) -> tuple[str, ...]:
        """The names of every variable that the pack or its programs heed, the usual ones too."""
        own = (*(self.reads_environment or ()), *self.child_environment)
        return tuple(dict.fromkeys((*USUAL_VARIABLES, *own)))


def covers(names: Iterable[str], variable: str) -> bool:
    """Return whether a variable is one of these names, which may end with `*`."""
    return any(
        variable.startswith(name[:-1]) if name.endswith("*") else variable == name for name in names
    )


def chosen(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that these names stand for."""
    wanted = tuple(names)
    return {name: value for name, value in environment.items() if covers(wanted, name)}


def _names(field: str, names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DeclarationError(f"{field} must be a sequence of names, not {names!r}")
    made = []
    for name in names:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise DeclarationError(
                f"{field}: {name!r} must be the name of a variable, or the beginning of some "
                "followed by '*'"
            )
        made.append(str.__str__(name))
    return tuple(made)
