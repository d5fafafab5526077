"""The calls that run at one server, and the questions that it asks meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any

from .links import Message
from .model import Mount, needed, question
from .peer import METHOD_NOT_FOUND
from .replies import Reply, failed, of_message
from .server import Server
from .turns import Turns

METHODS = {"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"}
QUESTION = "question"
NOBODY = "no client can be asked now"
PARKED = 32
"""The most calls that wait for a person at once."""
BEFORE_THE_END = 0.9
"""How much of its time a call waits for its turn before it is told that others are at it."""

Send = Callable[[Mapping[str, Any], bytes], None]


@dataclass(eq=False)
class Running:
    """One call at the server; `number` is the host's, and another where it comes again.

    `question` is what the server waits for an answer to, and `ticket` what the host brings back
    with it. `reply` is how the call ended while nobody waited. One that `is_out` has left its turn:
    while the server waits for its answer, no other question can be this call's.
    """

    number: int
    call: Mapping[str, Any]
    group: str
    token: int = 0
    request: int = 0
    question: Message | None = None
    ticket: str = ""
    reply: Reply | None = None
    timer: threading.Timer | None = None
    is_out: bool = False
    begin: Callable[[], None] = field(default=lambda: None)

    @property
    def offers(self) -> list[str]:
        """What its client can be asked."""
        offers: list[str] = self.call["caller"][5]
        return offers


class Calls:
    """Runs calls at a server; `send` is the worker's end of the border. Safe in any thread."""

    def __init__(self, mount: Mount, server: Server, names: Names, send: Send) -> None:
        self._mount = mount
        self._server = server
        self._names = names
        self._send = send
        self._lock = threading.RLock()
        self._turns = Turns()
        self._token = 0
        self._running: dict[int, Running] = {}
        self._parked: dict[str, Running] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self._running and not self._parked

    def begin(self, number: int, call: Mapping[str, Any]) -> None:
        """Run a call of the host, or go on with one whose question was answered."""
        if call.get("state") and not self._server.greeting.is_stateless:
            self._resume(number, call)
            return
        running = Running(number, call, _group(call, self._mount.allow))
        with self._lock:
            self._token += 1
            running.token = self._token
            self._running[running.token] = running
            if self._server.greeting.is_stateless:
                self._start(running)
                return
            self._begin_in_turn(running, partial(self._start, running))

    def cancel(self, number: int) -> None:
        """Let go of a call that nobody waits for any more."""
        with self._lock:
            running = next((one for one in self._running.values() if one.number == number), None)
            if running is not None:
                self._let_go(running, "the caller has cancelled it")
        self._send({"cancelled": number}, b"")

    def end(self) -> None:
        """Forget everything: the server is gone."""
        with self._lock:
            for running in (*self._running.values(), *self._parked.values()):
                if running.timer is not None:
                    running.timer.cancel()

    # -- what the server says

    def progressed(self, params: Mapping[str, Any]) -> None:
        """Pass on how far a call is."""
        token = params.get("progressToken")
        running = self._running.get(token) if isinstance(token, int) else None
        done, total, words = (params.get(key) for key in ("progress", "total", "message"))
        if running is None or running.ticket or not isinstance(done, int | float):
            return
        total = total if isinstance(total, int | float) else None
        self._send({"said": ["progress", done, total, words], "number": running.number}, b"")

    def logged(self, params: Mapping[str, Any]) -> bool:
        """Pass a line of the log on to the one caller whose calls run; return whether it was."""
        with self._lock:
            there = [one for one in self._running.values() if one.request and not one.ticket]
            if not there or len({one.group for one in there}) > 1:
                return False
            said = ["log", params.get("level", "info"), params.get("data"), params.get("logger")]
            self._send({"said": said, "number": there[0].number}, b"")
            return True

    def asked(self, message: Message) -> None:
        """Put a question of the server to the one whose call runs; or refuse it."""
        method, params = str(message["method"]), message.get("params") or {}
        needs = needed(method, params)
        if needs is None or not self._mount.allows(needs):
            self._server.peer.refuse(message, METHOD_NOT_FOUND, f"{method} is not allowed here")
            return
        with self._lock:
            there = [one for one in self._running.values() if one.request and one.question is None]
            if not there:
                self._server.peer.refuse(message, METHOD_NOT_FOUND, NOBODY)
            elif needs not in there[0].offers:
                self._server.peer.refuse(message, METHOD_NOT_FOUND, NOBODY)
                if len(there) == 1:
                    self._finish(there[0], ({"cannot_ask": needs}, b""))
                    self._withdraw(there[0], "its client cannot be asked")
            elif len(self._parked) >= PARKED:
                self._server.peer.refuse(message, METHOD_NOT_FOUND, "too many questions wait")
            else:
                self._park(there[0], message, method, params)

    # -- one call

    def _begin_in_turn(self, running: Running, begin: Callable[[], None]) -> None:
        """Begin when it is its caller's turn; tell it where that takes most of its time."""
        running.begin = begin
        if not self._turns.enter(running.group, begin):
            seconds = max(0.05, running.call["seconds"] * BEFORE_THE_END)
            running.timer = self._later(seconds, partial(self._waited_too_long, running))

    def _start(self, running: Running) -> None:
        if running.timer is not None:
            running.timer.cancel()
            running.timer = None
        call, stateless = running.call, self._server.greeting.is_stateless
        meta = {"progressToken": running.token}
        params = self._server.params(self._params(call), meta, running.offers)
        if stateless and (call.get("answers") or call.get("state")):
            params["inputResponses"] = call["answers"]
            if call["state"]:
                params["requestState"] = call["state"]
        running.request = -1  # it may be answered before its number is known here
        number = self._server.peer.request(
            METHODS[call["kind"]], params, partial(self._replied, running)
        )
        if running.request == -1:
            running.request = number

    def _params(self, call: Mapping[str, Any]) -> dict[str, Any]:
        kind = call["kind"]
        if kind == "resource":
            return {"uri": call["target"]}
        name = self._names.own(kind, call["key"])
        return {"name": name, "arguments": call["arguments"]}

    def _replied(self, running: Running, message: Message) -> None:
        reply = of_message(message, running.call, self._mount, self._server.greeting.is_stateless)
        with self._lock:
            if running.ticket:
                running.reply = reply  # the host comes for it with the answer
            else:
                self._finish(running, reply)

    def _finish(self, running: Running, reply: Reply) -> None:
        """Answer the host; what is sent holds the lock, so that no later word overtakes it."""
        if self._running.pop(running.token, None) is None:
            return
        head, body = reply
        self._send({"reply": running.number, **head}, body)
        self._left(running)

    def _left(self, running: Running) -> None:
        if not (self._server.greeting.is_stateless or running.is_out):
            self._turns.leave()

    def _let_go(self, running: Running, why: str) -> None:
        if self._running.pop(running.token, None) is None:
            return
        if running.timer is not None:
            running.timer.cancel()
        has_waited = self._turns.leave_queue(running.begin)
        self._withdraw(running, why)
        if not has_waited:
            self._left(running)

    def _withdraw(self, running: Running, why: str) -> None:
        if running.request > 0 and self._server.peer.forget(running.request):
            params = {"requestId": running.request, "reason": why}
            self._server.peer.notify("notifications/cancelled", params)

    def _waited_too_long(self, running: Running) -> None:
        with self._lock:
            if not self._turns.leave_queue(running.begin):
                return
            self._running.pop(running.token, None)
            self._withdraw(running, "others are at work for too long")
            head, body = failed(
                "busy",
                f"'{self._mount.pack}' is at work for another client, who may be asked a question",
                {"reason": "turn_of_others"},
                began=False,
            )
            self._send({"reply": running.number, **head}, body)

    # -- questions

    def _park(
        self, running: Running, message: Message, method: str, params: Mapping[str, Any]
    ) -> None:
        running.question, running.ticket = message, token_hex(16)
        self._parked[running.ticket] = running
        limit = self._mount.asking_timeout + 5
        running.timer = self._later(limit, partial(self._expire, running.ticket))
        asked = question(self._mount.pack, method, params)
        told = {"reply": running.number, "asked": {QUESTION: asked}, "state": running.ticket}
        self._send(told, b"")
        running.is_out = True
        self._turns.leave()

    def _resume(self, number: int, call: Mapping[str, Any]) -> None:
        with self._lock:
            running = self._parked.pop(str(call["state"]), None)
            if running is None:
                words = "The question has ended meanwhile; call again"
                head, body = failed("conflict", words, {"reason": "question_ended"})
                self._send({"reply": number, **head}, body)
                return
            running.ticket = ""
            running.number, running.call = number, {**running.call, **_renewed(call)}
            if running.timer is not None:
                running.timer.cancel()
            if running.reply is not None:
                self._finish(running, running.reply)
                return
            self._begin_in_turn(
                running, partial(self._answer, running, call["answers"].get(QUESTION))
            )

    def _answer(self, running: Running, answer: object) -> None:
        """Give the server its answer, now that what it asks next can only be this call's."""
        if running.timer is not None:
            running.timer.cancel()
        if running.token not in self._running:  # it has ended while it waited for its turn
            self._turns.leave()
            return
        asked, running.question, running.is_out = running.question, None, False
        if asked is not None and isinstance(answer, dict):
            self._server.peer.answer(asked, answer)
        elif asked is not None:
            self._server.peer.refuse(asked, METHOD_NOT_FOUND, NOBODY)

    def _expire(self, ticket: str) -> None:
        with self._lock:
            running = self._parked.pop(ticket, None)
            if running is None or running.question is None:
                return
            if running.question["method"] == "elicitation/create":
                self._server.peer.answer(running.question, {"action": "cancel"})
            else:
                self._server.peer.refuse(running.question, METHOD_NOT_FOUND, NOBODY)
            running.ticket = ""
            self._let_go(running, "nobody has answered its question")

    def _later(self, seconds: float, function: Callable[[], None]) -> threading.Timer:
        timer = threading.Timer(seconds, function)
        timer.daemon = True
        timer.start()
        return timer


class Names:
    """The server's own names, by what the host knows them as; exchanged as a whole."""

    def __init__(self, names: Mapping[str, Mapping[str, str]]) -> None:
        self.of = names

    def own(self, kind: str, name: str) -> str:
        """Return the server's name of a tool or a prompt."""
        return self.of.get(kind, {}).get(name, name)


def _group(call: Mapping[str, Any], allowed: frozenset[str]) -> str:
    """Return whose a call is, as far as questions go: those who cannot be asked are as one."""
    subject, _, _, connection, _, offers, _ = call["caller"]
    if not any(each.startswith("elicitation") or each in allowed for each in offers):
        return "nobody can be asked"
    if connection is not None:
        return f"connection {connection}"
    return f"subject {subject}" if subject is not None else f"call {call['request_id']}"


def _renewed(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call that comes again says anew."""
    return {key: call[key] for key in ("request_id", "seconds", "max_answer_bytes", "caller")}
