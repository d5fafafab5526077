"""Answers of commands that only read, kept by a digest of everything they are made from.

A command that is run again on a tree that is the same costs what reading the tree costs. What the
digest is of says `storage.kept`; here the command line comes to it. `OPENSPEC_CACHE=0` turns this
off.

Only what is cheap is imported here: whatever else would cost more than it saves.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from ..storage.kept import Kept, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = ("list", "show", "validate", "status", "instructions")
"""The commands whose answers are kept."""

_VARIABLES = ("OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT", "OPENSPEC_CACHE")
_NOT_KEPT = ("--project", "--store", "--archived")
_HEAD = b"openspec answer 1 %d %d\n"


class _Place(NamedTuple):
    """Where an answer is kept."""

    folder: str
    digest: str


def answered(arguments: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """Run a command, or print what it said before where all that it reads is the same."""
    place = _place(arguments)
    if place is None:
        return run(arguments)
    if (code := _replay(place)) is not None:
        return code
    out, err = _Tee(sys.stdout), _Tee(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        code = run(arguments)
    finally:
        sys.stdout, sys.stderr = out.stream, err.stream
    if code in (0, 1) and place == _place(arguments):  # nothing was edited meanwhile
        said = out.text()
        Kept(place.folder).write(place.digest, _HEAD % (code, len(said)) + said + err.text())
    return code


class _Tee:
    """Writes to a stream, and remembers."""

    def __init__(self, stream: object) -> None:
        self.stream = stream
        self._parts: list[str] = []

    def write(self, text: str) -> int:
        self._parts.append(text)
        return self.stream.write(text)  # type: ignore[attr-defined, no-any-return]

    def text(self) -> bytes:
        return "".join(self._parts).encode("utf-8", "surrogatepass")

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def _replay(place: _Place) -> int | None:
    """Print a kept answer; its exit code, or None where there is none."""
    data = Kept(place.folder).read(place.digest)
    if data is None:
        return None
    try:
        head, body = data.split(b"\n", 1)
        code, length = map(int, head.removeprefix(b"openspec answer 1 ").split())
        out, err = (
            part.decode("utf-8", "surrogatepass") for part in (body[:length], body[length:])
        )
    except ValueError:
        return None
    sys.stderr.write(err)
    try:
        sys.stdout.write(out)
        sys.stdout.flush()
    except OSError:
        return None  # told of by running the command
    return code


def _place(arguments: Sequence[str]) -> _Place | None:
    """Where the answer to a command line is kept; None where it must be worked out."""
    environment = os.environ
    home, root = environment.get("HOME"), _root(os.getcwd())
    cache = environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    if (
        cache is None
        or root is None
        or environment.get("OPENSPEC_CACHE") == "0"
        or environment.get("OPENSPEC_ROOT")
        or any(one.startswith(_NOT_KEPT) for one in arguments)
        or (arguments[0] == "list" and "--json" not in arguments)  # it says how long ago
    ):
        return None
    asked = (os.getcwd(), *arguments, *(environment.get(name, "") for name in _VARIABLES))
    data = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
    digest = digest_of(asked, root, (f"{root}/openspec", f"{data}/openspec/schemas"))
    return None if digest is None else _Place(f"{cache}/mcp-host-openspec/answers", digest)


def _root(folder: str) -> str | None:
    """The nearest folder upwards with a tree, by the rule of `storage.roots`."""
    while True:
        tree = f"{folder}/openspec"
        if os.path.isdir(tree) and (
            os.path.isdir(f"{tree}/specs")
            or os.path.isdir(f"{tree}/changes")
            or os.path.exists(f"{tree}/config.yaml")
            or os.path.exists(f"{tree}/config.yml")
        ):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
