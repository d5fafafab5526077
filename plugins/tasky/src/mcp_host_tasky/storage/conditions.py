"""What a person's own settings say of when work is done: a program that must succeed, or a file
that must be there. A plan holds only their names, so that a plan that is cloned runs nothing."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidError
from .programs import program_environment
from .store import Guard

_SECONDS = 60.0
_SHOWN = 600
_CHECK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition by its name: the program it `run`s, or the `file` it looks for."""

    name: str
    run: tuple[str, ...] = ()
    file: str | None = None
    seconds: float = _SECONDS

    def unmet(self, folder: Path, task: Mapping[str, str], guard: Guard) -> str | None:
        """Say what is missing, or None where the condition holds in this folder. A program is told
        the task by the variables `TASKY_TASK_ID` and `TASKY_TASK_NAME`."""
        if self.file is not None:
            there = (folder / Path(self.file).expanduser()).exists()
            return None if there else f"{self.file} is not there"
        return self._ran(folder, task, guard)

    def _ran(self, folder: Path, task: Mapping[str, str], guard: Guard) -> str | None:
        # Another thread starts it: a signal that ends this one meanwhile would lose its number.
        with tempfile.TemporaryFile() as output, ThreadPoolExecutor(1) as starter:
            starting = starter.submit(self._started, folder, task, output.fileno())
            try:
                code = self._code(starting.result(), guard)
            except OSError as error:
                return f"{self.run[0]} cannot be run: {error.strerror or error}"
            finally:
                _end(starting)
            if code == 0:
                return None
            output.seek(max(0, output.seek(0, os.SEEK_END) - _SHOWN * 4))
            said = output.read().decode(errors="replace").strip()[-_SHOWN:]
        ended = f"ended with {code}" if code is not None else f"took over {self.seconds:g} seconds"
        return f"{' '.join(self.run)[:100]} {ended}" + (f": {said}" if said else "")

    def _started(
        self, folder: Path, task: Mapping[str, str], output: int
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.run,
            cwd=folder,
            env={**program_environment(), **task},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _code(self, program: subprocess.Popen[bytes], guard: Guard) -> int | None:
        """Return the exit code; None where the time ran out."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            guard()
            with suppress(subprocess.TimeoutExpired):
                return program.wait(_CHECK_EVERY)
        return None


def _end(starting: Future[subprocess.Popen[bytes]]) -> None:
    """End a program that still runs, and what it started."""
    if starting.exception() is not None:
        return
    program = starting.result()
    if program.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()


def read_conditions(tables: Mapping[str, Any], where: Path) -> dict[str, Condition]:
    """Return the conditions of a settings file's section `done_conditions`."""
    found: dict[str, Condition] = {}
    for name, table in tables.items():
        given = dict(table) if isinstance(table, Mapping) else {}
        run, file = given.pop("run", None), given.pop("file", None)
        seconds = given.pop("timeout_seconds", _SECONDS)
        is_program = isinstance(run, list) and run and all(isinstance(one, str) for one in run)
        is_file = isinstance(file, str) and bool(file)
        is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        if given or not is_time or bool(is_program) == is_file or (run is not None and is_file):
            raise InvalidError(
                f"done_conditions.{name} of {where} must have either run or file.",
                reason="bad_settings",
                suggestions=['Write run = ["program", "argument"], or file = "path".'],
            )
        found[str(name)] = Condition(str(name), tuple(run or ()), file, float(seconds))
    return found
