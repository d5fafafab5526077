"""Programs that packs run: without a shell, in a process group of their own, within limits."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ..declarations.environment import environment
from ..declarations.handle import CompletedProgram
from ..declarations.needs import USUAL_VARIABLES, covers
from ..startup.dataclass import dataclass


@dataclass(frozen=True)
class ProgramRunner:
    """Runs the programs of one pack, without the variables that settings read as secrets.

    `handed_on` are the variables that the pack declares for its programs.
    """

    secret_variables: Callable[[], frozenset[str]]
    handed_on: tuple[str, ...] = ()

    async def __call__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None,
        timeout: float,
        stdin: bytes,
        max_output: int,
        env: Mapping[str, str] | None,
    ) -> CompletedProgram:
        return await run_program(
            tuple(os.fspath(part) for part in argv),
            cwd=cwd,
            timeout=timeout,
            stdin=stdin,
            max_output=max_output,
            env=program_environment(self.secret_variables(), self.handed_on) | dict(env or {}),
        )


def program_environment(
    without: frozenset[str] = frozenset(), handed_on: Sequence[str] = ()
) -> dict[str, str]:
    """Return the variables that programs started by packs get: the usual ones, and `handed_on`.

    They are those of the session that the work is done for.
    """
    return {
        name: value
        for name, value in environment().items()
        if name not in without
        and (covers(USUAL_VARIABLES, name.upper()) or covers(handed_on, name))
    }


async def run_program(
    argv: tuple[str, ...],
    *,
    cwd: str | os.PathLike[str] | None,
    timeout: float,
    stdin: bytes,
    max_output: int,
    env: Mapping[str, str],
) -> CompletedProgram:
    """As `PackHandle.run`, with the environment given whole."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    streams = (_Stream(process.stdout, max_output), _Stream(process.stderr, max_output))
    work = asyncio.gather(_feed(process.stdin, stdin), *(s.read() for s in streams))
    timed_out = truncated = False
    try:
        async with asyncio.timeout(timeout):
            await work
            await process.wait()
    except TimeoutError:
        timed_out = True
    except _TooMuchOutput:
        truncated = True
    finally:
        try:
            work.cancel()
            with suppress(BaseException):
                await work
            await _end(process)
        finally:
            _close(process)
    return CompletedProgram(
        argv,
        None if timed_out else process.returncode,
        bytes(streams[0].data),
        bytes(streams[1].data),
        timed_out,
        truncated,
    )


class _TooMuchOutput(Exception):
    """A program wrote more than it may."""


class _Stream:
    def __init__(self, reader: asyncio.StreamReader | None, limit: int) -> None:
        self._reader, self._limit = reader, limit
        self.data = bytearray()

    async def read(self) -> None:
        assert self._reader is not None
        while chunk := await self._reader.read(65536):
            self.data += chunk[: self._limit - len(self.data)]
            if len(self.data) >= self._limit:
                raise _TooMuchOutput


async def _feed(writer: asyncio.StreamWriter | None, data: bytes) -> None:
    assert writer is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        writer.write(data)
        await writer.drain()
    writer.close()


def _close(process: asyncio.subprocess.Process) -> None:
    """Close the pipes now: asyncio does so in a later turn, and the loop may have none."""
    transport = getattr(process, "_transport", None)  # there is no public way to it
    if transport is not None:
        transport.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program and all that it started; a polite signal first."""
    for number, patience in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        if process.returncode is not None:
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await process.wait()
