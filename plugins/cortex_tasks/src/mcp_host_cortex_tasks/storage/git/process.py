"""Git as a process: how it is begun so that nobody is asked, how it ends in time."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import TimedOutError, UnsupportedError
from ...model.redaction import redact

LOOK_EVERY = 0.5
ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "true",
}
# Without a person nothing asks at a terminal or in a window; helpers that know the answer are used.
_NOBODY_THERE = {"SSH_ASKPASS_REQUIRE": "never", "GCM_INTERACTIVE": "never"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What git said: its exit status, its output and its complaint, without secrets."""

    status: int
    out: str
    complaint: str

    @property
    def ok(self) -> bool:
        """Whether git did it."""
        return self.status == 0


@dataclass(frozen=True, slots=True)
class Asking:
    """The programs that git may ask for a password, and the seconds that one has to answer."""

    programs: tuple[str, ...]
    limit: float


def is_attended() -> bool:
    """Tell whether a person is at a terminal, who can be asked."""
    return os.isatty(0)


def run(
    folder: Path,
    arguments: tuple[str, ...],
    limit: float,
    given: str | None = None,
    *,
    more: dict[str, str] | None = None,
    asking: Asking | None = None,
) -> Answer:
    """Run one git command in a folder and return its answer; `TimedOutError` past the limit.

    `given` is its standard input, `more` what its environment has besides. Of `asking` a program
    that does not answer in time is ended and named.
    """
    nobody = {} if is_attended() else _NOBODY_THERE
    try:
        process = subprocess.Popen(
            ["git", *arguments],
            cwd=folder,
            env=os.environ | ENVIRONMENT | nobody | (more or {}),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError:
        if not folder.is_dir():
            raise
        raise UnsupportedError(
            "Git is not installed, or not on the PATH.",
            reason="git_missing",
            suggestions=["Install git 2.36 or newer."],
        ) from None
    sent = None if given is None else given.encode("utf-8", "surrogateescape")
    try:
        out, complaint = _wait(process, arguments, sent, limit, asking)
    except BaseException:
        end(process)
        raise
    return Answer(process.returncode, _text(out), redact(_text(complaint)))


def lines(folder: Path, arguments: tuple[str, ...], longest: int) -> Iterator[bytes]:
    """Yield what a command prints line by line, a line that is longer than that in pieces."""
    process = subprocess.Popen(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        while line := process.stdout.readline(longest):
            yield line
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started: asked first, so that it takes its lock files along."""
    family = [process.pid, *_descendants(process.pid)]
    with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
        process.terminate()
        process.wait(2)
    for pid in family:
        with contextlib.suppress(OSError):
            if pid != process.pid or process.poll() is None:
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait(5)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _wait(
    process: subprocess.Popen[bytes],
    arguments: tuple[str, ...],
    sent: bytes | None,
    limit: float,
    asking: Asking | None,
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + limit
    seen: dict[int, float] = {}
    while True:
        left = deadline - time.monotonic()
        try:
            wait = left if asking is None else min(left, LOOK_EVERY)
            return process.communicate(sent, timeout=max(0.0, wait))
        except subprocess.TimeoutExpired:
            sent = None  # it was begun: what is left of it is sent by the next call
            if asking is not None and (name := _silent(process.pid, asking, seen)):
                raise TimedOutError(
                    f"{name} was asked for a password and did not answer within"
                    f" {asking.limit:g} s.",
                    reason="askpass_timeout",
                    suggestions=["Let it answer by itself, or unset GIT_ASKPASS and core.askPass."],
                ) from None
            if deadline - time.monotonic() <= 0:
                raise TimedOutError(
                    f"git {_command(arguments)} did not end within {limit:g} s.",
                    reason="git_timeout",
                ) from None


def _command(arguments: tuple[str, ...]) -> str:
    """Return the name of the git command, without the options that come before it."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _silent(pid: int, asking: Asking, seen: dict[int, float]) -> str | None:
    """Return the program that was asked for a password and has been silent too long.

    It is one of those that git may ask, or whatever git's speaker of HTTP has begun.
    """
    now = time.monotonic()
    for parent in (pid, *_descendants(pid)):
        speaker = _words_of(parent, "comm")[:1]
        for child in _children(parent):
            words = _words_of(child, "cmdline")[:3]
            named = [one for one in asking.programs if os.fsencode(one) in words]
            begun = bool(speaker) and speaker[0].startswith(b"git-remote-http")
            if (named or begun) and now - seen.setdefault(child, now) > asking.limit:
                return next(iter((*named, *asking.programs)), None) or _helper_of(words)
    return None


def _helper_of(words: list[bytes]) -> str:
    """Return what a person knows a credential helper by, from the words that it runs with."""
    told = [os.fsdecode(word) for word in words if word not in (b"", b"-c", b"get")]
    is_shell = len(told) > 1 and Path(told[0]).name in ("sh", "dash", "bash")
    return " ".join(told[is_shell:]) or "A credential helper"


def _words_of(pid: int, what: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().split(b"\0")
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    try:
        told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(one) for one in told.split()]


def _descendants(pid: int) -> Iterator[int]:
    """Yield a process's children and theirs, where the system tells (Linux)."""
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
