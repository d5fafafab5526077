"""What a person's own settings say of when work is done: a program that must succeed, or a file
that must be there. A plan holds only their names, so that a plan that is cloned runs nothing."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import cast

from ..errors import InvalidError, StoppedError
from .programs import program_environment
from .store import Guard

_TASK_ID = "TASKY_TASK_ID"
_RUN_FOR = "TASKY_CONDITIONS_OF"
"""The variable with all tasks whose conditions a program runs within, apart by spaces."""
_SECONDS = 60.0
_SHOWN = 600
_CHECK_EVERY = 0.05
_PART = 65_536
_LAST_WORDS_SECONDS = 0.5
# Colours and the like, which are for terminals.
_COMMANDS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition by its name: the program it `run`s, or the `file` it looks for."""

    name: str
    run: tuple[str, ...] = ()
    file: str | None = None
    seconds: float = _SECONDS

    def unmet(self, folder: Path, task: Mapping[str, str], guard: Guard) -> str | None:
        """Say what is missing, or None where the condition holds in this folder. A program is told
        the task by the variables `TASKY_TASK_ID` and `TASKY_TASK_NAME`; one that would complete
        that very task, or one whose condition has led to it, is not started again for it."""
        if self.file is not None:
            try:
                there = (folder / Path(self.file).expanduser()).exists()
            except (OSError, RuntimeError) as error:  # a name too long, a person who is not there
                return f"{self.file[:_SHOWN]} cannot be looked for: {error}"
            return None if there else f"{self.file} is not there"
        run_for = os.environ.get(_RUN_FOR, "").split()
        if task.get(_TASK_ID) in run_for:
            return "a condition of this task cannot complete it"
        within = " ".join([*run_for, *filter(None, [task.get(_TASK_ID)])])
        return self._ran(folder, {**task, _RUN_FOR: within}, guard)

    def _ran(self, folder: Path, task: Mapping[str, str], guard: Guard) -> str | None:
        said = _Tail()
        running = _Running()
        try:
            # Another thread starts it: a signal that ends this one meanwhile would lose its number.
            with ThreadPoolExecutor(1) as starter:
                start = partial(self._started, folder, task)
                program = starter.submit(running.start, start).result()
            said.follow(program)
            code = self._code(program, guard)
        except OSError as error:
            return f"{self.run[0]} cannot be run: {error.strerror or error}"
        finally:
            running.end()
        if code == 0:
            return None
        # Not how it was called: what stands in a person's settings is nobody else's to read.
        ended = (
            f"it ended with {code}"
            if code is not None
            else f"it took over {self.seconds:g} seconds"
        )
        text = said.text()
        return ended + (f": {text}" if text else "")

    def _started(self, folder: Path, task: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.run,
            cwd=folder,
            env={**program_environment(), **task},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
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


class _Tail:
    """The end of what a program says. It may say more than a disk holds, and what it leaves running
    may hold its output open for ever."""

    def __init__(self) -> None:
        self._kept = b""
        self._reading: threading.Thread | None = None

    def follow(self, program: subprocess.Popen[bytes]) -> None:
        self._reading = threading.Thread(
            target=self._read, args=(cast(BufferedReader, program.stdout),), daemon=True
        )
        self._reading.start()

    def _read(self, output: BufferedReader) -> None:
        with output:
            while part := output.read1(_PART):
                self._kept = (self._kept + part)[-_SHOWN * 4 :]

    def text(self) -> str:
        if self._reading:
            self._reading.join(_LAST_WORDS_SECONDS)
        said = _COMMANDS.sub("", self._kept.decode(errors="replace"))
        return said.strip()[-_SHOWN:].strip()


class _Running:
    """A program that one thread starts and another ends, whichever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def start(self, started: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start the program, where it was not ended before it began."""
        with self._lock:
            if self._is_over:
                raise StoppedError("It was given up before it began.", reason="stopped")
            self._program = started()
            return self._program

    def end(self) -> None:
        """End the program where it still runs, and what it started."""
        with self._lock:
            self._is_over = True
        program = self._program
        if program and program.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def read_conditions(tables: object, where: Path) -> dict[str, Condition]:
    """Return the conditions of a settings file's section `done_conditions`."""
    if not isinstance(tables, Mapping):
        raise _refused(f"[done_conditions] of {where} must be a table.")
    return {str(name): _condition(str(name), table, where) for name, table in tables.items()}


def _condition(name: str, table: object, where: Path) -> Condition:
    given = dict(table) if isinstance(table, Mapping) else {}
    run, file = given.pop("run", None), given.pop("file", None)
    seconds = given.pop("timeout_seconds", _SECONDS)
    about = f"done_conditions.{name} of {where}"
    if (run is None) == (file is None):
        raise _refused(f"{about} must have either run or file.")
    if given:
        raise _refused(f"{about} holds {next(iter(given))!r}, which is not part of a condition.")
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= threading.TIMEOUT_MAX:
        raise _refused(f"timeout_seconds of {about} must be a number above 0.")
    words = [file] if run is None else run
    if not (isinstance(words, list) and words and all(map(_is_word, words)) and words[0]):
        told = "file must be a path" if run is None else "run must be a list of texts"
        raise _refused(f"{told} in {about}.")
    return Condition(name, tuple(run or ()), file, float(seconds))


def _is_word(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _refused(message: str) -> InvalidError:
    return InvalidError(
        message,
        reason="bad_settings",
        suggestions=['Write run = ["program", "argument"], or file = "path".'],
    )
