"""A host process beside which one way of misbehaving runs, and what its neighbour feels of it.

The client here is bytes on pipes and threads: it shares nothing with the host, and measures by its
own clock. Each host has a process group of its own, which is ended when the measuring is over.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

PACKS = Path(__file__).parents[1] / "packs" / "hostile"
sys.path.insert(0, str(PACKS))

from hostile.registry import Expected, Way  # noqa: E402 - the line above makes it importable

sys.path.remove(str(PACKS))  # else other tests would see the pack as installed

SETTINGS = """
[host]
timeout = 2
start_timeout = 2
grace = 1
retry_after = 60
[packs.neighbour]
[packs.hostile]
"""
IN_A_PROCESS = SETTINGS + 'isolation = "process"\n'
PATIENCE = 20.0
"""Seconds after which something that should have come is taken as not coming."""
BEATS = 0.05
"""Seconds between two calls to the neighbour."""
SLOWEST = 0.5
"""Seconds that the neighbour may take on a quiet machine."""
BEFORE_OPENING = ("importing", "hooks", "opening")
"""Families that `doctor` meets: it opens packs and calls none of them."""


class Silence(Exception):
    """No answer came; `has_ended` says whether that is because the process has ended."""

    def __init__(self, has_ended: bool) -> None:
        super().__init__("the process ended" if has_ended else "no answer")
        self.has_ended = has_ended


class Client:
    """A client of one server process. `garbage` is what came that is no message."""

    def __init__(self, argv: list[str], environment: Mapping[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        self.garbage: list[bytes] = []
        self._answers: dict[int, tuple[float, dict[str, Any]]] = {}
        self._log = bytearray()
        self._news = threading.Condition()
        self._sending = threading.Lock()
        self._next = 0
        self._open = {"output", "log"}
        assert self.process.stdout is not None and self.process.stderr is not None
        for target, stream in (
            (self._read_output, self.process.stdout),
            (self._read_log, self.process.stderr),
        ):
            threading.Thread(target=target, args=(stream,), daemon=True).start()

    @property
    def log(self) -> str:
        return self._log.decode("utf-8", "replace")

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with self._sending, suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def post(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; the number that its answer will have."""
        with self._news:
            self._next += 1
            number = self._next
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def answer(self, number: int, patience: float = PATIENCE) -> tuple[float, dict[str, Any]]:
        """When the answer to a request came, and the answer; raises `Silence`."""
        with self._news:
            self._news.wait_for(lambda: number in self._answers or not self._open, patience)
            if number not in self._answers:
                raise Silence("output" not in self._open)
            return self._answers.pop(number)

    def ask(self, method: str, params: Mapping[str, Any], patience: float = PATIENCE) -> Any:
        """The seconds that an answer took, and the answer; raises `Silence`."""
        began = time.monotonic()
        came, answer = self.answer(self.post(method, params), patience)
        return came - began, answer

    def has_ended(self, stream: str, patience: float = 3.0) -> bool:
        """Whether "output" or "log" has come to its end."""
        with self._news:
            return self._news.wait_for(lambda: stream not in self._open, patience)

    def exit_code(self, patience: float) -> int | None:
        """The exit code; None where the process does not end."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(patience)
        return None

    def end_input(self) -> None:
        assert self.process.stdin is not None
        with self._sending, suppress(OSError):
            self.process.stdin.close()

    def kill(self) -> None:
        """End the process and whatever it left behind in its group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _read_output(self, stream: IO[bytes]) -> None:
        for line in stream:
            try:
                message = json.loads(line)
            except ValueError:
                self.garbage.append(line[:200])
                continue
            if isinstance(message, dict) and "method" not in message:
                with self._news:
                    self._answers[message.get("id", 0)] = time.monotonic(), message
                    self._news.notify_all()
        self._ended("output")

    def _read_log(self, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            with self._news:
                self._log += chunk
                if len(self._log) > 40_000_000:
                    del self._log[1_000_000:-1_000_000]
        self._ended("log")

    def _ended(self, stream: str) -> None:
        with self._news:
            self._open.discard(stream)
            self._news.notify_all()


@dataclass
class Measured:
    """What one way did. Seconds are None where nothing came; `exit` where it did not end."""

    slowest: float | None = None
    lost: int = 0
    answer: str = ""
    state: str = ""
    reason: str = ""
    named: str = ""
    ended_early: bool = False
    exit: int | None = None
    ending: float | None = None
    output_ended: bool = False
    garbage: int = 0
    doctor: str = ""
    doctor_seconds: float | None = None
    in_main_thread: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> Expected | str:
        """What it comes to."""
        if self.ended_early:
            return Expected.ENDS
        if self.lost or self.slowest is None:
            return "the neighbour fell silent"
        if self.exit != 0 or not self.output_ended or self.garbage:
            return "it did not end well"
        if self.in_main_thread:
            return "code of the pack ran in the host's main thread"
        if self.doctor == "no answer":
            return "doctor did not answer"
        return Expected.CONTAINED

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["in_main_thread"]  # where it was looked for, there was nothing
        return data


WATCHED = Path(__file__).with_name("watched.py")


@dataclass
class Folder:
    """A user's folder in which a host runs.

    Where it `is_watched`, what packs' functions run in the main thread of `serve` is noted.
    """

    path: Path
    settings: str = SETTINGS
    extra: Mapping[str, str] = field(default_factory=dict)
    is_watched: bool = False

    @property
    def notes(self) -> list[str]:
        """What ran in the main thread though a pack's side is where it belongs."""
        file = self.path / "in-the-main-thread"
        return file.read_text().splitlines() if file.exists() else []

    def environment(self, way: str) -> dict[str, str]:
        homes = {f"XDG_{kind}_HOME": str(self.path / kind) for kind in ("CONFIG", "DATA", "CACHE")}
        return {
            **os.environ,
            **homes,
            "HOME": str(self.path),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKS), os.environ.get("PYTHONPATH")))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOSTILE_WAY": way,
            **self.extra,
        }

    def command(self, word: str, *more: str) -> list[str]:
        config = self.path / "mcp-host.toml"
        config.write_text(self.settings)
        host = ["-m", "mcp_host"]
        if self.is_watched and word == "serve":
            host = [str(WATCHED), str(self.path / "in-the-main-thread"), str(PACKS)]
        return [sys.executable, *host, word, *more, "--config", str(config)]

    @contextmanager
    def serve(self, way: str) -> Iterator[Client]:
        client = Client(self.command("serve"), self.environment(way), self.path)
        try:
            yield client
        finally:
            client.kill()


def measure(
    way: Way, path: Path, *, is_watched: bool = False, in_a_process: bool = False
) -> Measured:
    """Run one way beside the neighbour, in a folder of its own."""
    settings = IN_A_PROCESS if in_a_process else SETTINGS
    folder, found = Folder(path, settings, is_watched=is_watched), Measured()
    with folder.serve(way.name) as client:
        try:
            _handshake(client)
            heart = Heart(client)
            time.sleep(4 * BEATS)
            found.answer = _misbehave(client, way)
            time.sleep(0.8)
            heart.stop()
        except Silence as silence:
            found.ended_early = silence.has_ended
            found.answer = str(silence)
        else:
            found.slowest = heart.slowest
            found.lost = heart.lost
            found.ended_early = heart.has_ended
            with suppress(Silence):
                found.state, found.reason = _condition(client)
        found.ended_early = found.ended_early or client.process.poll() is not None
        began = time.monotonic()
        client.end_input()
        found.exit = client.exit_code(PATIENCE)
        found.ending = round(time.monotonic() - began, 2)
        found.output_ended = client.has_ended("output")
        found.garbage = len(client.garbage)
        found.named = _naming(client.log)
    found.in_main_thread = folder.notes
    if way.family in BEFORE_OPENING or way.at_import is not None:
        found.doctor, found.doctor_seconds = _doctor(folder, way)
    return found


def _handshake(client: Client) -> None:
    about = {"name": "neighbour", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    client.ask("initialize", params)
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    client.ask("tools/list", {})
    client.ask("tools/call", {"name": "neighbour_echo", "arguments": {"text": "warm"}})


class Heart:
    """Calls the neighbour over and over, on its loop and in a thread, until it is stopped."""

    def __init__(self, client: Client) -> None:
        self.slowest: float | None = None
        self.lost = 0
        self.has_ended = False
        self._client = client
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stopping.is_set():
            for tool in ("neighbour_echo", "neighbour_echo_on_loop"):
                params = {"name": tool, "arguments": {"text": "x"}}
                try:
                    seconds, answer = self._client.ask("tools/call", params)
                except Silence as silence:
                    self.has_ended = silence.has_ended
                    self.lost += 1
                    return
                self.lost += "result" not in answer or answer["result"].get("isError", False)
                self.slowest = max(self.slowest or 0.0, seconds)
            self._stopping.wait(BEATS)


def _misbehave(client: Client, way: Way) -> str:
    request = way.request
    numbers = [client.post(request.method, request.params) for _ in range(way.times)]
    try:
        answers = [client.answer(number, 8)[1] for number in numbers]
    except Silence as silence:
        return str(silence)
    return _brief(answers[-1])


def _brief(answer: Mapping[str, Any]) -> str:
    """What an answer says, in a few words: a result, or the code and the reason of an error."""
    if "error" in answer:
        data = answer["error"].get("data") or {}
        return str(data.get("code") or answer["error"]["code"])
    envelope = answer["result"].get("_meta", {}).get("mcp-host/error")
    if envelope is None:
        return "a result"
    reason = (envelope.get("details") or {}).get("reason")
    return f"{envelope['code']} ({reason})" if reason else str(envelope["code"])


def _condition(client: Client) -> tuple[str, str]:
    _, answer = client.ask("resources/read", {"uri": "host://packs"}, 5)
    if "result" not in answer:
        return "", ""
    (text,) = answer["result"]["contents"]
    (pack,) = (p for p in json.loads(text["text"]) if p["name"] == "hostile")
    return pack["state"], pack.get("code") or ""


def _naming(log: str) -> str:
    """The line of the log that names the pack, best the one that says who held up the others."""
    log = log.replace(f"{Path(__file__).parents[2]}{os.sep}", "")  # the same on every machine
    lines = [line[:300] for line in log.splitlines() if "pack hostile" in line]
    return max(lines, key=lambda line: ("watchdog" in line, "in pack hostile" in line), default="")


def _doctor(folder: Folder, way: Way) -> tuple[str, float]:
    """What `doctor` says of the pack, in a few words, and how long it took."""
    process = subprocess.Popen(
        folder.command("doctor", "--json"),
        env=folder.environment(way.name),
        cwd=folder.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    began = time.monotonic()
    try:
        output, _ = process.communicate(timeout=PATIENCE + 5)
        (pack,) = (p for p in json.loads(output)["packs"] if p["name"] == "hostile")
    except (subprocess.TimeoutExpired, ValueError):
        said = "no answer"
    else:
        said = f"{pack['state']} ({pack['code']})" if pack.get("code") else pack["state"]
        if pack.get("findings"):
            said += ", a finding"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return said, round(time.monotonic() - began, 1)
