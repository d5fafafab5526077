"""Which variables of the environment a pack reads while it is opened and called."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..declarations.needs import USUAL_VARIABLES, Needs, covers

WHOLE = "*"
"""What stands for all variables: each was read, or a program got every one of them."""
OF_PYTHON = ("PYTHON*", "PYDANTIC_*")
"""What the interpreter and the host's own models read: it is the same for every pack."""
HOST = __name__.partition(".")[0]


class EnvironmentReads:
    """The variables that a pack has read in this process, and those that it does not declare.

    `declared` is what the pack's `mcp_host_needs` answers.
    """

    def __init__(self, package: str, declared: Needs) -> None:
        self.declared = declared
        self._package = package
        self._all = frozenset(os.environ)
        self._names: set[str] = set()
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that was read, in order; `*` stands for all that there are."""
        with self._lock:
            names = set(self._names)
        if WHOLE in names or self._all <= names:
            names = {WHOLE, *(names - self._all)}
        return tuple(sorted(names))

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Those of `names` that are neither declared nor among the usual ones."""
        declared = self.declared
        known = (
            *USUAL_VARIABLES,
            *OF_PYTHON,
            *(declared.reads_environment or ()),
            *declared.child_environment,
        )
        return tuple(name for name in self.names if not covers(known, name))

    def _note(self, name: str) -> None:
        """Note that a variable is read, where it is the pack that does."""
        if self._is_pack():
            with self._lock:
                self._names.add(name)

    def _is_pack(self) -> bool:
        """Whether the pack asks: its code is nearer than the host's and than a foreign import."""
        frame = sys._getframe(2)
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            top = module.partition(".")[0]
            if top == self._package:
                return True
            if (top == HOST and module != __name__) or module == "importlib._bootstrap":
                return False
            frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
        return False


@contextmanager
def environment_reads(plugin: str) -> Iterator[EnvironmentReads]:
    """Note which variables a pack reads; `plugin` is its plugin module, as for `hosted`.

    What the pack's code reads by `os.environ` or `os.getenv` is noted, and what libraries read that
    it calls; so is a program started without an environment of its own, which gets all variables.
    Not seen: what a library reads while it is imported, or in threads of its own, or in C.
    """
    needs = getattr(import_module(plugin.partition(":")[0]), "mcp_host_needs", Needs)
    reads = EnvironmentReads(plugin.partition(".")[0].partition(":")[0], needs())
    _listen()
    _listeners.append(reads)
    try:
        yield reads
    finally:
        _listeners.remove(reads)


class _Noting(os._Environ):  # type: ignore[type-arg]  # its parameter is the type of names
    """The environment, which tells the listeners what is read of it."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            _tell(key)
        return super().__getitem__(key)


_listeners: list[EnvironmentReads] = []


def _tell(name: str) -> None:
    for listener in list(_listeners):
        listener._note(name)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and _listeners and arguments[3] is None:
        _tell(WHOLE)


def _listen() -> None:
    """Have `os.environ` tell what is read of it: the one object that everybody holds."""
    if not isinstance(os.environ, _Noting):
        os.environ.__class__ = _Noting
        sys.addaudithook(_audit)
