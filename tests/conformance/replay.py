"""What the suite said over HTTP, said again over stdio: the answers must be the same.

A conversation is played in its recorded order: a recorded answer is waited for before the next
message is sent, so what happened at the same time happens at the same time again. Equal means
equal as JSON, apart from what must differ:

- JSON-RPC ids and subscription ids, because conversations that HTTP kept apart share one link here;
- request ids, new for every call by contract;
- `requestState`, sealed by each process with its own key. The state that stdio gave out is sent
  where the recording has the one that HTTP gave out.

Left out are the requests that HTTP itself refused (`Exchange.refused`), what is no JSON-RPC at all
(GET, DELETE), and `initialize` in the era that has none: HTTP knows no such method there, while a
link says which era it serves.
"""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any

from relay import Line, Message

PATIENCE = 60.0
LONGEST_LINE = 1 << 24
UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
ERA_IS_SET = -32022
LIST_CHANGED = "/list_changed"
"""Told once or several times: changes that come close together are told as one."""
OPENER = {
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


@dataclass
class Played:
    """What a replay found."""

    requests: int = 0
    equal: int = 0
    differences: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return f"{self.requests} requests replayed, {self.equal} equal"

    def __iadd__(self, other: "Played") -> "Played":
        self.requests += other.requests
        self.equal += other.equal
        self.differences += other.differences
        self.left_out += other.left_out
        return self

    @property
    def good(self) -> bool:
        return self.requests == self.equal > 0 and not self.differences


async def replay(
    lines: Sequence[Line], command: Sequence[str], environment: Mapping[str, str]
) -> Played:
    """Play every conversation of a recording on a link of its own, two at a time."""
    played, room = Played(), asyncio.Semaphore(2)

    async def one(session: str, conversation: list[Line]) -> Played:
        async with room, Link(command, environment) as link:
            return await _Conversation(link).play(session, conversation)

    conversations: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.exchange.refused is None:
            conversations[line.exchange.session].append(line)
        elif line.speaker == "client":
            played.left_out[line.exchange.refused] += 1
    for result in await asyncio.gather(*(one(*item) for item in conversations.items())):
        played += result
    return played


class Link:
    """The host as a subprocess on stdio, spoken to in bare JSON."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._others: list[Message] = []
        self._news = asyncio.Condition()

    async def __aenter__(self) -> "Link":
        self._log = TemporaryFile()  # noqa: SIM115 - closed by __aexit__
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._log,
            limit=LONGEST_LINE,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        await self._reading
        self._log.close()

    def ask(self, request: Message) -> int:
        """Send a request under a fresh id, and return that id."""
        number = len(self._answers) + 1
        self._answers[number] = asyncio.get_running_loop().create_future()
        self.tell(request | {"id": number})
        return number

    def tell(self, message: Message) -> None:
        assert self._process.stdin
        line = {"jsonrpc": "2.0"} | message
        self._process.stdin.write(json.dumps(line).encode() + b"\n")

    async def answer(self, number: int) -> Message:
        return await asyncio.wait_for(asyncio.shield(self._answers[number]), PATIENCE)

    def is_answered(self, number: int) -> bool:
        return self._answers[number].done()

    def said(self, number: int) -> str:
        """The answer in words, also where there is none."""
        return comparable(self._answers[number].result()) if self.is_answered(number) else "nothing"

    async def other(self, wanted: str) -> Message:
        """The first request or notification of the host that looks like `wanted`, taken once."""

        def found() -> Message | None:
            return next((m for m in self._others if comparable(m) == wanted), None)

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: found() is not None)
            message = found()
            assert message is not None
            self._others.remove(message)
            return message

    async def close(self) -> tuple[int, list[Message]]:
        """End the input; returns the exit code and what the host said that nobody took."""
        assert self._process.stdin
        self._process.stdin.close()
        return await asyncio.wait_for(self._process.wait(), PATIENCE), self._others

    def log(self) -> str:
        """The end of what the host wrote to its log."""
        self._log.seek(0)
        return self._log.read().decode()[-2000:]

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            message = json.loads(line)
            if "method" not in message and message["id"] in self._answers:
                self._answers[message["id"]].set_result(message)
            else:
                async with self._news:
                    self._others.append(message)
                    self._news.notify_all()


class _Conversation:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._played = Played()
        self._asked: dict[tuple[object, object], int] = {}  # (exchange, recorded id) → our id
        self._host_asked: dict[object, object] = {}  # recorded id → the id that the host chose here
        self._heard: set[int] = set()  # ours, of the requests whose answer was recorded
        self._open: dict[int, Message] = {}  # ours, of which the recording has not told the end yet
        self._states: dict[str, str] = {}  # recorded requestState → ours
        self._told: set[str] = set()  # what the host said of itself, as it was recorded

    async def play(self, session: str, conversation: Iterable[Line]) -> Played:
        if (
            not session
        ):  # the first request decides a link's era, and the suite's first is malformed
            await self._link.answer(self._link.ask(OPENER))
        for line in conversation:
            match line.speaker:
                case "client":
                    self._say(line)
                case "server":
                    await self._hear(line)
                case "hung up":
                    self._cancel(line)
        try:
            code, surplus = await self._link.close()
        except TimeoutError:
            ended = f"stdio did not end {PATIENCE:.0f} s after its input\n{self._link.log()}"
            self._played.differences.append(ended)
            return self._played
        for number, request in self._open.items():
            self._played.differences.append(
                f"HTTP never answered, and nobody hung up: {comparable(request)}\n"
                f"  stdio: {self._link.said(number)}"
            )
        for text in map(comparable, surplus):
            if not (LIST_CHANGED in text and text in self._told):
                self._played.differences.append(f"stdio said too much: {text}")
        if code != 0:
            self._played.differences.append(
                f"exit code {code} at the end of input\n{self._link.log()}"
            )
        return self._played

    def _say(self, line: Line) -> None:
        message = line.message
        if "method" not in message:
            if message["id"] in self._host_asked:  # else it never asked, which is told already
                self._link.tell(message | {"id": self._host_asked[message["id"]]})
        elif "id" not in message:
            self._link.tell(message)
        else:
            self._played.requests += 1
            params = message.get("params") or {}
            if params.get("requestState") in self._states:
                state = self._states[params["requestState"]]
                message = message | {"params": params | {"requestState": state}}
            number = self._asked[line.exchange, message["id"]] = self._link.ask(message)
            self._open[number] = message

    async def _hear(self, line: Line) -> None:
        recorded = line.message
        try:
            if "method" in recorded:
                ours = await self._link.other(comparable(recorded))
                self._told.add(comparable(recorded))
                self._host_asked[recorded.get("id")] = ours.get("id")
            else:
                number = self._number(line)
                self._heard.add(number)
                self._open.pop(number, None)
                self._compare(recorded, await self._link.answer(number))
        except TimeoutError:
            self._played.differences.append(f"stdio never said: {comparable(recorded)}")

    def _number(self, line: Line) -> int:
        """Our id of the request that a recorded answer belongs to, wherever it was delivered."""
        recorded = line.message["id"]
        own = self._asked.get((line.exchange, recorded))
        if own is not None:
            return own
        return next(n for (_, asked), n in reversed(self._asked.items()) if asked == recorded)

    def _compare(self, recorded: Message, ours: Message) -> None:
        for theirs, here in zip(_states(recorded), _states(ours), strict=False):
            self._states[theirs] = here
        if comparable(recorded) == comparable(ours):
            self._played.equal += 1
        elif ours.get("error", {}).get("code") == ERA_IS_SET:
            self._played.requests -= 1
            self._played.left_out["initialize in the era without handshake"] += 1
        else:
            self._played.differences.append(
                f"HTTP:  {comparable(recorded)}\n  stdio: {comparable(ours)}"
            )

    def _cancel(self, line: Line) -> None:
        """Hanging up cancels over HTTP; on stdio the client has to say so. Neither is answered."""
        for (exchange, _), number in self._asked.items():
            if exchange is not line.exchange or number in self._heard:
                continue
            self._open.pop(number, None)
            if self._link.is_answered(number):  # sooner than its client would have hung up
                self._played.requests -= 1
                self._played.left_out["an answer that nobody waited for over HTTP"] += 1
            else:
                self._played.equal += 1
                self._link.tell(
                    {"method": "notifications/cancelled", "params": {"requestId": number}}
                )


def comparable(message: Message) -> str:
    """A message as text in which everything that must differ looks the same."""
    plain = _masked({key: value for key, value in message.items() if key != "id"})
    return UUID.sub("<uuid>", json.dumps(plain, sort_keys=True, ensure_ascii=False))


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: "<differs>"
                if key in ("requestState", "io.modelcontextprotocol/subscriptionId")
                else _masked(inner)
                for key, inner in value.items()
            }
        case list():
            return [_masked(inner) for inner in value]
        case _:
            return value


def _states(message: Message) -> list[str]:
    state = message.get("result", {}).get("requestState")
    return [state] if state else []
