"""A pack at run time: its own event loop and threads, how it opens and closes, and its condition.

Nothing of a pack runs on the host's loop. The host hands work over and waits for its outcome only
as long as the call's deadline allows; what is still running then is left behind and counted.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias

from .conditions import OPENING, READY, Condition
from .errors import Busy, Unavailable
from .records import Record

log = logging.getLogger("mcp_host.packs")

MOMENT = 0.3
LEFT_BEHIND_LIMIT = 32
LEFT_BEHIND_PATIENCE = 1.0
LAST_RETRY = 300.0

CHILD_VARIABLES = (
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
CHILD_PREFIXES = ("LC_", "XDG_")


class Finished(Record):
    """A program that ended, or was ended: `returncode` is None after a timeout."""

    argv: tuple[str, ...]
    returncode: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class PackHandle:
    """The one thing of the host that a pack holds; every method may be called in any thread."""

    def __init__(
        self,
        name: str,
        *,
        changed: Callable[[str], None],
        lists_changed: Callable[[], None],
        condition: Callable[[Condition | None], None],
        public_name: Callable[[str], str],
        folders: tuple[Path, Path],
        secret_variables: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self._changed, self._lists_changed = changed, lists_changed
        self._condition, self._public_name = condition, public_name
        self._folders, self._secret_variables = folders, secret_variables

    def changed(self, uri: str) -> None:
        """Tell the clients that watch this resource."""
        self._changed(uri)

    def lists_changed(self) -> None:
        """Tell all clients to ask for the lists again."""
        self._lists_changed()

    def degraded(self, reason: str, *, code: str = "degraded", remedy: str = "") -> None:
        """Say that the pack serves, but not all of it; code `not_set_up` is no fault for doctor."""
        self._condition(Condition("degraded", str(code), str(reason), str(remedy)))

    def recovered(self) -> None:
        """Say that what `degraded` told is over."""
        self._condition(None)

    @property
    def data_dir(self) -> Path:
        """A folder of the pack's own for what must be kept; made when first asked for."""
        return _made(self._folders[0])

    @property
    def cache_dir(self) -> Path:
        """A folder of the pack's own for what may be lost; made when first asked for."""
        return _made(self._folders[1])

    def public_name(self, tool: str) -> str:
        """The name under which clients know one of the pack's tools."""
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
    ) -> Finished:
        """Run a program without a shell, in a process group of its own that ends with the call.

        Its environment holds a listed few variables and `env`, never one that settings read as a
        secret. Output beyond `max_output` bytes (each stream) ends the program and is marked
        `truncated`; so does `timeout` seconds. Raises `OSError` where it cannot be started.
        """
        environment = child_environment(self._secret_variables) | dict(env or {})
        return await run_program(
            tuple(os.fspath(part) for part in argv),
            cwd=cwd,
            timeout=timeout,
            stdin=stdin,
            max_output=max_output,
            env=environment,
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def child_environment(without: frozenset[str] = frozenset()) -> dict[str, str]:
    """The variables that programs started by packs may see."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in without
        and (name.upper() in CHILD_VARIABLES or name.startswith(CHILD_PREFIXES))
    }


async def run_program(
    argv: tuple[str, ...],
    *,
    cwd: str | os.PathLike[str] | None,
    timeout: float,
    stdin: bytes,
    max_output: int,
    env: Mapping[str, str],
) -> Finished:
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
    except _TooMuch:
        truncated = True
    finally:
        try:
            work.cancel()
            with suppress(BaseException):
                await work
            await _end(process)
        finally:
            _close(process)
    return Finished(
        argv,
        None if timed_out else process.returncode,
        bytes(streams[0].data),
        bytes(streams[1].data),
        timed_out,
        truncated,
    )


class _TooMuch(Exception):
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
                raise _TooMuch


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


# -- work in a pack --------------------------------------------------------------------------------


class PackExit(Exception):
    """A pack's code called for the end of the process; only its call ends."""


class PackLoop:
    """One event loop in one thread, for one pack."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.stopping = False
        self._thread = threading.Thread(target=self._run, name=f"pack-{name}", daemon=True)
        self._thread.start()

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have the loop call a function; silent where the loop has ended."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *arguments)

    def stop(self) -> None:
        """End the loop as soon as what runs on it lets go."""
        self.stopping = True
        self.post(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.stopping:
            try:
                self.loop.run_forever()
            except BaseException:
                log.exception("a background task of the pack ended its event loop; it goes on")
        if rest := asyncio.all_tasks(self.loop):  # calls that still run hear that it is over
            for task in rest:
                task.cancel()
            self.loop.run_until_complete(asyncio.wait(rest, timeout=MOMENT))
        self.loop.close()


class Workers:
    """Threads for a pack's synchronous functions: made as needed, used again, never joined."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def post(self, job: Callable[[], None]) -> None:
        """Have a thread call the function."""
        with self._lock:
            start = self._idle == 0
            if not start:
                self._idle -= 1
        if start:
            threading.Thread(target=self._run, name=f"pack-{self._name}-sync", daemon=True).start()
        self._jobs.put(job)

    def stop(self) -> None:
        """Let every idle thread end."""
        with self._lock:
            for _ in range(self._idle):
                self._jobs.put(None)
            self._idle = 0

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            with self._lock:
                self._idle += 1


Work: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]


class _Job:
    """One piece of work in a pack, awaited on the host's loop."""

    def __init__(self, over: Callable[[], None]) -> None:
        self._host = asyncio.get_running_loop()
        self._over = over
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[Any] | None = None
        self.outcome: asyncio.Future[Any] = self._host.create_future()
        self.abandoned = False
        self._delivered = False

    # in the pack's loop

    def begin(self, loop: PackLoop, work: Work) -> None:
        if self.abandoned:
            self._deliver(None, None)
            return
        self._task = loop.loop.create_task(self._work(work), context=self._context)
        self._task.add_done_callback(partial(self._ended, loop))

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self, work: Work) -> None:
        self._deliver(await _contained(work), None)  # now, not in the loop's next turn
        self._delivered = True

    def _ended(self, loop: PackLoop, task: asyncio.Task[Any]) -> None:
        if self._delivered:
            return
        if task.cancelled():
            over = Unavailable("The pack was closed while the call ran")
            self._deliver(None, over if loop.stopping else PackExit("the work cancelled itself"))
        else:
            self._deliver(None, task.exception())

    # in a worker thread

    def call(self, function: Callable[[], Any]) -> None:
        result: Any = None
        error: BaseException | None = None
        if not self.abandoned:
            try:
                result = self._context.run(function)
            except StopIteration as raised:  # no future takes this one
                error = RuntimeError("StopIteration in a pack")
                error.__cause__ = raised
            except Exception as raised:
                error = raised
            except BaseException as raised:
                error = PackExit(f"{type(raised).__name__} in a pack")
                error.__cause__ = raised
        self._deliver(result, error)

    def _deliver(self, result: Any, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the host's loop has ended, and nobody waits any more
            self._host.call_soon_threadsafe(self._settle, result, error)

    # in the host's loop

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self.abandoned:
            self._over()
        elif not self.outcome.done():
            if error is None:
                self.outcome.set_result(result)
            else:
                self.outcome.set_exception(error)


async def _contained(work: Work) -> Any:
    try:
        return await work()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as raised:  # the host's own loop would end with it
        raise PackExit(f"{type(raised).__name__} in a pack") from raised


class Explained(Record):
    """An exception of a pack in words; `expected` when it is one that the pack has declared."""

    reason: str
    remedy: str = ""
    expected: bool = False


class Runtime:
    """One pack at work; its condition and all its methods belong to the host's loop.

    `opens` makes the context manager whose value is the service; None where the pack has none. It
    may take `open_timeout` seconds, and is tried again `retry_after` seconds after a failure; None
    for never, as when the host ends without it.
    """

    def __init__(
        self,
        name: str,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]] | None,
        handle: PackHandle | None,
        on_condition: Callable[[], None],
        describe: Callable[[BaseException], Explained],
        *,
        open_timeout: float,
        retry_after: float | None,
        close_timeout: float,
    ) -> None:
        self.name = name
        self._open_timeout, self._close_timeout = open_timeout, close_timeout
        self._retry_after = retry_after
        self.service: Any = None
        self._opens, self._handle = opens, handle
        self._on_condition, self._describe = on_condition, describe
        self._lifecycle = OPENING
        self._reported: Condition | None = None
        self._stuck = False
        self._shown = self._lifecycle
        self._left_behind = 0
        self._decided = asyncio.Event()
        self._loop: PackLoop | None = None
        self._keeper: _Keeper | None = None
        self._workers = Workers(name)

    # -- condition

    @property
    def condition(self) -> Condition:
        if self._lifecycle.state != "ready":
            return self._lifecycle
        if self._reported is not None:
            return self._reported
        if self._stuck:
            return Condition(
                "degraded",
                "calls_left_behind",
                f"{self._left_behind} of its calls run on after their deadline",
                "if it does not pass, restart the host and look at the pack's log",
            )
        return self._lifecycle

    def report(self, condition: Condition | None) -> None:
        """What the pack says of itself: degraded, or (None) recovered."""
        self._reported = condition
        self._tell()

    def _become(self, condition: Condition) -> None:
        self._lifecycle = condition
        if condition.state == "opening":
            self._decided.clear()
        else:
            self._decided.set()
        self._tell()

    def _tell(self) -> None:
        condition = self.condition
        if condition != self._shown:
            self._shown = condition
            self._on_condition()

    # -- opening and closing

    async def open(self) -> None:
        """Open the pack, and after a failure again and again, ever more rarely; until cancelled.

        A service that ends while it is open, since a background task of it died, is a failure too.
        """
        pause = self._retry_after
        while True:
            began = time.monotonic()
            if await self._open_once(pause):
                await self._lost(pause)
            if self._retry_after is None or pause is None:
                return
            was_open_long = time.monotonic() - began > LAST_RETRY
            await asyncio.sleep(pause)
            pause = self._retry_after if was_open_long else min(pause * 2, LAST_RETRY)

    async def _open_once(self, pause: float | None) -> bool:
        self._loop = PackLoop(self.name)
        if self._opens is None or self._handle is None:
            self._become(READY)
            return True
        self._keeper = _Keeper(self._loop, self._opens, self._handle)
        try:
            async with asyncio.timeout(self._open_timeout):
                self.service = await self._keeper.opened
        except TimeoutError:
            self._drop_loop()
            reason = f"it did not open within {self._open_timeout:g} s"
            why = Explained(reason, "look at what its `mcp_host_open` waits for")
            self._fail("open_timeout", why, pause)
            return False
        except asyncio.CancelledError:
            self._drop_loop()
            raise
        except BaseException as error:
            why = self._describe(error)
            if not why.expected:
                log.warning("pack %s could not be opened", self.name, exc_info=error)
            self._drop_loop()
            self._fail("open_failed", why, pause)
            return False
        self._become(READY)
        return True

    async def _lost(self, pause: float | None) -> None:
        """Wait until the service ends without having been told to, and say so."""
        if self._keeper is None:
            await asyncio.Event().wait()  # there is nothing to lose
            return
        await asyncio.wait({self._keeper.closed})
        error = self._keeper.closed.exception()
        log.warning("pack %s ended by itself", self.name, exc_info=error)
        self._drop_loop()
        why = self._describe(error) if error else Explained("nothing was raised")
        reason = f"what it had opened ended by itself: {why.reason}"
        self._fail("service_lost", Explained(reason, why.remedy), pause)

    def _fail(self, code: str, why: Explained, pause: float | None) -> None:
        again = "" if pause is None else f"it is tried again in {pause:g} s"
        self._reported = None
        remedy = "; ".join(filter(None, (why.remedy, again)))
        self._become(Condition("failed", code, why.reason, remedy))

    def _drop_loop(self) -> None:
        """Give the loop up: it ends when the pack lets go of it, and nobody waits for that."""
        if self._keeper is not None:
            self._keeper.let_go(and_stop=True)

    async def decided(self) -> None:
        """Wait until the pack is open or has failed to."""
        await self._decided.wait()

    async def close(self) -> None:
        """Close the service in the task that opened it, within `close_timeout` seconds.

        A pack with calls left behind may have lost its loop to one of them: it gets a moment only.
        """
        if self._keeper is not None and self._lifecycle.state == "ready":
            self._keeper.let_go()
            limit = MOMENT if self._left_behind else self._close_timeout
            try:
                async with asyncio.timeout(limit):
                    await self._keeper.closed
            except TimeoutError:
                log.warning("pack %s did not close within %g s", self.name, limit)
            except Exception as error:
                log.warning("pack %s failed to close", self.name, exc_info=error)
        if self._loop is not None:
            self._loop.stop()
        self._workers.stop()

    # -- work

    async def run(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        taken_back: Callable[[], None] | None = None,
        **named: Any,
    ) -> Any:
        """What the pack's function returns; `async def` on its loop, `def` in a thread.

        Cancelled, it calls `taken_back`, is cancelled in the pack as well, and no longer waited
        for.
        """
        if self._left_behind >= LEFT_BEHIND_LIMIT:
            raise Busy(
                f"The pack '{self.name}' has {self._left_behind} calls that never came back",
                details={"reason": "calls_left_behind"},
            )
        loop = self._loop
        if loop is None:
            raise Unavailable(f"The pack '{self.name}' is not open")
        job = _Job(self._one_came_back)
        if inspect.iscoroutinefunction(function):
            loop.post(job.begin, loop, lambda: function(*arguments, **named))
        else:
            self._workers.post(lambda: job.call(lambda: function(*arguments, **named)))
        try:
            return await job.outcome
        except asyncio.CancelledError:
            if taken_back is not None:
                taken_back()
            self._leave_behind(job, loop)
            raise

    def _leave_behind(self, job: _Job, loop: PackLoop) -> None:
        if job.outcome.done() and not job.outcome.cancelled():
            job.outcome.exception()
            return
        job.abandoned = True
        self._left_behind += 1
        loop.post(job.cancel)
        asyncio.get_running_loop().call_later(LEFT_BEHIND_PATIENCE, self._look_behind)

    def _one_came_back(self) -> None:
        self._left_behind -= 1
        if self._left_behind == 0 and self._stuck:
            self._stuck = False
            self._tell()

    def _look_behind(self) -> None:
        if self._left_behind and not self._stuck:
            self._stuck = True
            self._tell()


class _Keeper:
    """Opens a service and closes it in one and the same task of the pack's loop."""

    def __init__(
        self,
        loop: PackLoop,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]],
        handle: PackHandle,
    ) -> None:
        self._host = asyncio.get_running_loop()
        self._loop = loop
        self.opened: asyncio.Future[Any] = self._host.create_future()
        self.closed: asyncio.Future[None] = self._host.create_future()
        self._release: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        loop.post(self._begin, opens, handle)

    def let_go(self, *, and_stop: bool = False) -> None:
        """Close the service, or give up opening it; then end the loop if told so."""
        self._loop.post(self._let_go, and_stop)

    def _begin(
        self,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]],
        handle: PackHandle,
    ) -> None:
        self._release = asyncio.Event()
        self._task = self._loop.loop.create_task(self._keep(opens, handle))

    def _let_go(self, and_stop: bool) -> None:
        assert self._release is not None and self._task is not None  # _begin was posted before
        self._release.set()
        if not self.opened.done():
            self._task.cancel()
        if and_stop:
            self._task.add_done_callback(lambda _: self._loop.stop())

    async def _keep(
        self,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]],
        handle: PackHandle,
    ) -> None:
        assert self._release is not None
        try:
            async with opens(handle) as service:
                self._settle(self.opened, service, None)
                await self._release.wait()
        except BaseException as error:
            if isinstance(error, SystemExit | KeyboardInterrupt | asyncio.CancelledError):
                cause, error = error, PackExit(f"{type(error).__name__} while opening")
                error.__cause__ = cause
            self._settle(self.opened, None, error)
            self._settle(self.closed, None, error)
        else:
            self._settle(self.closed, None, None)

    def _settle(
        self, future: asyncio.Future[Any], result: Any, error: BaseException | None
    ) -> None:
        def settle() -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
                future.exception()  # seen: a pack that closes badly is no unhandled error

        with suppress(RuntimeError):
            self._host.call_soon_threadsafe(settle)
