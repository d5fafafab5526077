"""The calls that run at one server, in turns where its questions would not say whose they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..links import Message
from ..model import Mount, is_sound, needed, question
from ..peer import INVALID_PARAMS, METHOD_NOT_FOUND
from ..replies import Reply, asks_as_before, failed, of_message
from ..server import Server
from ..turns import Turns
from .names import Names
from .questions import MORE, NOBODY, Parked, give, give_none
from .running import InProgress, Running
from .told import Send, Told

NOTHING: Mapping[str, Any] = {}
METHODS = {"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"}
QUESTION = "question"
BEFORE_THE_END = 0.9
"""How much of its time a call waits for its turn before it is told that others are at it."""
AFTER_THE_LIMIT = 5.0
"""Seconds beyond the host's own limit until a question that nobody answers ends here."""


class Calls:
    """Runs calls at a server; `send` is the worker's end of the border. Safe in any thread.

    `told` passes on what the server tells of them. `on_asks_as_before` hears that the server cannot
    ask in the era that it is spoken with in.

    Invariants: `_turns`, `_running` and `_parked` change under `_lock`. A server that
    `_asks_side_by_side` has asked a call's second question before the first was answered, which
    never changes back. From then on a call keeps its turn while a person thinks: its next question
    could else be taken for one of another caller's call.
    """

    def __init__(
        self,
        mount: Mount,
        server: Server,
        names: Names,
        send: Send,
        on_asks_as_before: Callable[[], None],
    ) -> None:
        self._on_asks_as_before = on_asks_as_before
        self._mount = mount
        self._server = server
        self._names = names
        self._send = send
        self._lock = threading.RLock()
        self._turns = Turns()
        self._asks_side_by_side = False
        self._running = InProgress()
        self._parked = Parked(mount.asking_timeout + AFTER_THE_LIMIT, self._expire)
        self.told = Told(self._running, self._lock, send)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self._running and not self._parked

    def begin(self, message: Mapping[str, Any]) -> None:
        """Run a call of the host, or go on with one whose question was answered."""
        number, call = message["number"], message["call"]
        is_stateless = self._server.greeting.is_stateless
        if call.get("state") and not is_stateless:
            self._resume(number, call)
            return
        running = Running(number, call, self._mount.allow, message.get("progress", True))
        with self._lock:
            self._running.add(running)
            if is_stateless:
                self._start(running)
            else:
                self._begin_in_turn(running, partial(self._start, running))

    def cancel(self, number: int) -> None:
        """Let go of a call that nobody waits for any more."""
        with self._lock:
            running = self._running.of_number(number)
            if running is not None:
                self._let_go(running, "the caller has cancelled it")
        self._send({"cancelled": number}, b"")

    def end(self) -> None:
        """Forget everything: the server is gone."""
        with self._lock:
            for running in self._running:
                running.wait_no_more()
            self._parked.end()

    def ask(self, message: Message) -> None:
        """Put a question of the server to the one whose call runs; or refuse it."""
        method, params = str(message["method"]), message.get("params") or {}
        refuse = partial(self._server.peer.refuse, message, METHOD_NOT_FOUND)
        needs = needed(method, params)
        if needs is None or not self._mount.allows(needs):
            refuse(f"{method} is not allowed here")
            return
        if not is_sound(method, params):
            self._server.peer.refuse(message, INVALID_PARAMS, f"{method} lacks what it must have")
            return
        with self._lock:
            began = [one for one in self._running if one.request]
            there = [one for one in began if one.question is None and not one.ticket]
            if not there:
                self._put_behind(began, message, needs)
            elif needs not in there[0].offers:
                refuse(NOBODY)
                if len(there) == 1:
                    self._finish(there[0], ({"cannot_ask": needs}, b""))
                    self._withdraw(there[0], "its client cannot be asked")
            elif self._parked.is_full:
                refuse("too many questions wait")
            else:
                self._park(there[0], message)

    def withdraw_question(self, number: object) -> None:
        """Let go of a question that the server takes back; it is known by the request's id."""
        with self._lock:
            for one in self._running:
                if one.question is not None and _has_id(one.question, number):
                    self._drop_question(one)
                    return
                for each in one.more:
                    if _has_id(each, number):
                        one.more.remove(each)
                        return

    def _put_behind(self, asking: list[Running], message: Message, needs: str) -> None:
        """Keep a question until the one before it is answered, where it can only be one call's."""
        whose = asking[0] if len({one.group for one in asking}) == 1 else None
        if whose is None or needs not in whose.offers:
            self._server.peer.refuse(message, METHOD_NOT_FOUND, NOBODY)
        elif len(whose.more) >= MORE:
            self._server.peer.refuse(message, METHOD_NOT_FOUND, "too many questions wait")
        else:
            self._asks_side_by_side |= whose.question is not None
            whose.more.append(message)

    def _drop_question(self, running: Running) -> None:
        """Ask no more what a call's server does not want to know any more."""
        running.question = None
        if running.ticket:
            self._send({"withdrawn": running.ticket}, b"")

    def _begin_in_turn(self, running: Running, begin: Callable[[], None]) -> None:
        """Begin when it is its caller's turn; tell it where that takes most of its time."""
        running.begin = begin
        if not self._turns.enter(running.group, begin):
            seconds = max(0.05, running.call["seconds"] * BEFORE_THE_END)
            running.wait(seconds, partial(self._waited_too_long, running))

    def _start(self, running: Running) -> None:
        running.wait_no_more()
        call = running.call
        meta = {"progressToken": running.token} if running.wants_progress else NOTHING
        params = self._server.params(self._params(call), meta, running.offers)
        if (call.get("answers") or call.get("state")) and self._server.greeting.is_stateless:
            params["inputResponses"] = call["answers"]
            if call["state"]:
                params["requestState"] = call["state"]
        running.request = -1  # it may be answered before its number is known here
        number = self._server.peer.request(
            METHODS[call["kind"]],
            params,
            partial(self._replied, running),
            call["max_answer_bytes"],
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
        if "error" in message and asks_as_before(message):
            self._on_asks_as_before()
        reply = of_message(message, running.call, self._mount, self._server.greeting.is_stateless)
        with self._lock:
            if running.ticket:
                running.reply = reply  # the host comes for it with the answer, or without
                self._drop_question(running)
            else:
                self._finish(running, reply)

    def _finish(self, running: Running, reply: Reply) -> None:
        """Answer the host; what is sent holds the lock, so that no later word overtakes it."""
        if not self._running.remove(running):
            return
        head, body = reply
        head["reply"] = running.number
        self._send(head, body)
        if running.more:
            self._refuse_more(running)
        self._left(running)

    def _left(self, running: Running) -> None:
        if not (self._server.greeting.is_stateless or running.is_out):
            self._turns.leave()

    def _let_go(self, running: Running, why: str) -> None:
        if not self._running.remove(running):
            return
        running.wait_no_more()
        has_waited = self._turns.leave_queue(running.begin)
        self._refuse_more(running)
        self._withdraw(running, why)
        if not has_waited:
            self._left(running)

    def _refuse_more(self, running: Running) -> None:
        while running.more:
            give_none(self._server.peer, running.more.popleft())

    def _withdraw(self, running: Running, why: str) -> None:
        if running.request > 0 and self._server.peer.forget(running.request):
            params = {"requestId": running.request, "reason": why}
            self._server.peer.notify("notifications/cancelled", params)

    def _waited_too_long(self, running: Running) -> None:
        with self._lock:
            if not self._turns.leave_queue(running.begin):
                return
            self._running.remove(running)
            self._withdraw(running, "others are at work for too long")
            head, body = failed(
                "busy",
                f"'{self._mount.pack}' is at work for another client, who may be asked a question",
                {"reason": "turn_of_others"},
                began=False,
            )
            self._send({"reply": running.number, **head}, body)

    def _park(self, running: Running, message: Message) -> None:
        self._parked.park(running, message)
        method, params = str(message["method"]), message.get("params") or {}
        asked = question(self._mount.pack, method, params)
        told = {"reply": running.number, "asked": {QUESTION: asked}, "state": running.ticket}
        self._send(told, b"")
        if not self._asks_side_by_side:
            running.is_out = True
            self._turns.leave()

    def _resume(self, number: int, call: Mapping[str, Any]) -> None:
        with self._lock:
            running = self._parked.take(str(call["state"]))
            if running is None:
                words = "The question has ended meanwhile; call again"
                head, body = failed("conflict", words, {"reason": "question_ended"})
                self._send({"reply": number, **head}, body)
                return
            running.number, running.call = number, {**running.call, **_renewed(call)}
            if running.reply is not None:
                self._finish(running, running.reply)
                return
            answer = partial(self._answer, running, call["answers"].get(QUESTION))
            if running.is_out:
                self._begin_in_turn(running, answer)
            else:
                answer()

    def _answer(self, running: Running, answer: object) -> None:
        """Give the server its answer, now that what it asks next can only be this call's.

        Then ask what has waited behind that question.
        """
        running.wait_no_more()
        if not self._running.has(running):  # it has ended while it waited for its turn
            self._turns.leave()
            return
        asked, running.question, running.is_out = running.question, None, False
        if asked is not None:
            give(self._server.peer, asked, answer)
        if running.more:
            self._park(running, running.more.popleft())

    def _expire(self, ticket: str) -> None:
        with self._lock:
            running = self._parked.take(ticket)
            if running is None:
                return
            if running.question is not None:
                give_none(self._server.peer, running.question)
            self._let_go(running, "nobody has answered its question")


def _has_id(message: Message, number: object) -> bool:
    return type(message["id"]) is type(number) and bool(message["id"] == number)


def _renewed(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call that comes again says anew."""
    return {key: call[key] for key in ("request_id", "seconds", "max_answer_bytes", "caller")}
