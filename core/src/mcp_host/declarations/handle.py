"""What a pack holds of the host: its handle, a program that it had run, a finding of its checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..startup.dataclass import dataclass

if TYPE_CHECKING:
    from .context import Caller
    from .contribution import Contribution


@dataclass(frozen=True)
class CompletedProgram:
    """A program that ended, or was ended: `returncode` is None after a timeout."""

    argv: tuple[str, ...]
    returncode: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class Finding:
    """What a pack's own check found wrong, for `mcp-host doctor`."""

    problem: str
    remedy: str = ""


@dataclass(frozen=True)
class PackSkill:
    """A skill that a pack ships: its `folder` has a `SKILL.md`, and may have other files."""

    pack: str
    name: str
    description: str
    folder: str


class Programs(Protocol):
    """Runs programs for a pack; as `PackHandle.run`."""

    async def __call__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None,
        timeout: float,
        stdin: bytes,
        max_output: int,
        env: Mapping[str, str] | None,
    ) -> CompletedProgram: ...


class PackHandle:
    """The one thing of the host that a pack holds; every method may be called in any thread.

    Invariants: nothing in it changes once it is made, and each function that it was made with may
    be called in any thread.
    """

    def __init__(
        self,
        name: str,
        *,
        changed: Callable[[str], None],
        lists_changed: Callable[[], None],
        offer: Callable[[Contribution, Caller | None], None],
        withdraw: Callable[[str, Caller | None], None],
        watched: Callable[[], frozenset[str]],
        skills: Callable[[], Sequence[PackSkill]] = tuple,
        degraded: Callable[[str, str, str], None],
        recovered: Callable[[], None],
        public_name: Callable[[str], str],
        folders: tuple[Path, Path],
        programs: Programs,
    ) -> None:
        self.name = name
        self._changed = changed
        self._lists_changed = lists_changed
        self._offer = offer
        self._withdraw = withdraw
        self._watched = watched
        self._skills = skills
        self._degraded = degraded
        self._recovered = recovered
        self._public_name = public_name
        self._data_dir, self._cache_dir = folders
        self._programs = programs

    def changed(self, uri: str) -> None:
        """Tell the clients that watch this resource."""
        self._changed(uri)

    @property
    def watched(self) -> frozenset[str]:
        """The URIs of the pack's resources that a client watches now: of what nobody watches,
        changes need not be looked for."""
        return self._watched()

    @property
    def skills(self) -> tuple[PackSkill, ...]:
        """The skills of every pack that is served now."""
        return tuple(self._skills())

    def lists_changed(self) -> None:
        """Tell all clients to ask for the lists again."""
        self._lists_changed()

    def offer(self, contribution: Contribution, *, caller: Caller | None = None) -> None:
        """Add a tool, a resource, a template or a prompt to the lists, and tell the clients.

        It is for everybody, or for one `caller` alone. What was offered under the name before makes
        room for it. Raises `DeclarationError` where it cannot be served, and `Unsupported` for a
        caller whom nothing tells from others; a name that something else has is refused later, in
        the log and in the pack's state.
        """
        self._offer(contribution, caller)

    def withdraw(self, name: str, *, caller: Caller | None = None) -> None:
        """Take out what was offered under this name (a resource's URI), and tell the clients.

        Calls that have begun run to their end. A name that nothing was offered under is no error.
        """
        self._withdraw(name, caller)

    def degraded(self, reason: str, code: str = "degraded", remedy: str = "") -> None:
        """Say that the pack serves, but not all of it; code `not_set_up` is no fault for doctor."""
        self._degraded(str(code), str(reason), str(remedy))

    def recovered(self) -> None:
        """Say that what `degraded` told is over."""
        self._recovered()

    @property
    def data_dir(self) -> Path:
        """A folder of the pack's own for what must be kept; made when first asked for."""
        return _made(self._data_dir)

    @property
    def cache_dir(self) -> Path:
        """A folder of the pack's own for what may be lost; made when first asked for."""
        return _made(self._cache_dir)

    def public_name(self, tool: str) -> str:
        """Return the name under which clients know one of the pack's tools."""
        return self._public_name(tool)

    async def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = 30,
        stdin: bytes = b"",
        max_output: int = 4 * 1024 * 1024,
        env: Mapping[str, str] | None = None,
    ) -> CompletedProgram:
        """Run a program without a shell, in a process group of its own that ends with the call.

        Its environment holds a listed few variables, those that the pack declares as
        `Needs.child_environment`, and `env`; never one that settings read as a secret. Output
        beyond `max_output` bytes (each stream) ends the program and is marked `truncated`; so does
        `timeout` seconds. Raises `OSError` where it cannot be started.
        """
        return await self._programs(
            argv, cwd=cwd, timeout=timeout, stdin=stdin, max_output=max_output, env=env
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
