"""So many calls at once, in the host and in each pack, shared fairly among their callers."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from itertools import chain, takewhile
from typing import TypeAlias

from ..errors import Busy
from ..settings.tables import PackTable
from .call import Call, Movable, Next, Result

Whose: TypeAlias = tuple[str | None, str | None]
"""A caller: a token's subject, else a connection; those without either are one."""

WAITING = 256
"""Calls of one caller that wait, for the host and for each pack."""
ABOUT = 2.0
"""Seconds after their last call in which a caller still counts as being about."""
YIELDS = 0.05
"""Seconds for which one who floods lets the calls of others go first, after each of its own."""
SOON = 0.005
"""Seconds after a call within which the next of the same caller is expected."""
LONGEST_WAIT = 60


class Slots:
    """The host's slots and each pack's; a call takes its pack's first."""

    def __init__(self, packs: Mapping[str, PackTable], limit: int) -> None:
        self._host = Gate(limit, "The host", "[host]")
        self._packs: dict[str, Gate] = {}
        self.renew(packs, limit)

    def renew(self, packs: Mapping[str, PackTable], limit: int) -> None:
        """Have other limits from now on; who is inside stays, and counts."""
        self._host.limit(limit)
        for name in self._packs.keys() - packs.keys():
            del self._packs[name]
        for name, table in packs.items():
            gate = self._packs.get(name)
            if gate is None:
                gate = self._packs[name] = Gate(
                    table.max_concurrency, f"The pack '{name}'", f"[packs.{name}]"
                )
            gate.limit(table.max_concurrency)

    def places(self) -> list[tuple[str, int, int]]:
        """Each pack, with how many calls have a place and how many wait; in any thread."""
        return [(name, gate.inside, gate.waiting) for name, gate in list(self._packs.items())]

    async def __call__(self, call: Call, following: Next) -> Result:
        gate = self._packs.get(call.known.pack)
        if gate is None:
            return await following(call)
        caller = call.context.caller
        whose = (caller.subject, caller.connection if caller.subject is None else None)
        if not gate.enters(whose):
            await gate.turn(whose, call)
        try:
            if not self._host.enters(whose):
                await self._host.turn(whose, call)
            if call.movable is not None:
                self._leave_when_moved(call, call.movable, whose)
            try:
                return await following(call)
            finally:
                if call.movable is None:
                    self._host.leave(whose)
                else:
                    call.leave_host()
        finally:
            gate.leave(whose)

    def _leave_when_moved(self, call: Call, movable: Movable, whose: Whose) -> None:
        """Have a call keep its place in its pack to its end, and that in the host until it moves.

        Else those behind handles could keep the calls waiting that ask for them.
        """
        call.in_host = partial(self._host.leave, whose)
        if movable.is_moved:
            call.leave_host()  # it moved while it waited


class Gate:
    """Lets `limit` calls in; each caller has a line of their own for the rest.

    A place that comes free goes to the next caller in turn. Alone, a caller may have every place.
    While others are about, nobody has the last quarter of the places, so that whoever comes next
    need not wait for a call to end. Who then asks for more than all places at once floods: they
    have a thirty-second of them, and after each call wait while one of a caller without a line
    runs or may come soon, `YIELDS` seconds at the most, since the calls that run slow each other
    down as well.

    Invariants: `_running` counts each caller's calls inside, `limit` of them at most; `_lines` has
    no empty line, and its first caller is the next in turn; a future in a line is resolved by the
    place it is given, and cancelled by the caller who waits no more. `_last_seen` has everybody
    who runs a call or waits, and until `_about_until` all in it are about.
    """

    def __init__(self, limit: int, name: str, setting: str) -> None:
        self._limit = limit
        self._name = name
        self._setting = setting
        self._inside = 0
        self._running: dict[Whose, int] = {}
        self._lines: dict[Whose, deque[asyncio.Future[None]]] = {}
        self._last_seen: dict[Whose, float] = {}
        self._about_until = 0.0
        self._yields_until: dict[Whose, float] = {}
        self._filling: asyncio.TimerHandle | None = None
        self._left: deque[tuple[Whose, float]] = deque(maxlen=64)

    @property
    def inside(self) -> int:
        """How many calls have a place."""
        return self._inside

    @property
    def waiting(self) -> int:
        """How many calls wait for one."""
        return sum(len(line) for line in list(self._lines.values()))

    def limit(self, places: int) -> None:
        """Have so many places from now on."""
        self._limit = places
        self._fill()

    def enters(self, caller: Whose) -> bool:
        """Take a place if there is one for this caller now; else `turn` is to be awaited."""
        if self._is_alone(caller) and self._inside < self._limit:
            self._inside = self._running[caller] = self._inside + 1
            return True
        self._see(caller)
        if caller in self._lines or not self._may_enter(caller):
            return False
        self._take(caller)
        return True

    async def turn(self, caller: Whose, call: Call) -> None:
        """Wait in line for a place, and note in the call what it waits for.

        Raises `Busy` where the line is full.
        """
        line = self._lines.setdefault(caller, deque())
        if len(line) >= WAITING:
            raise self._busy(caller, len(line))
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._fill()
        call.waits_for = f"max_concurrency = {self._limit} of {self._setting}"
        try:
            await turn
            call.waits_for = ""
        except asyncio.CancelledError:
            if not turn.cancelled():  # the place came in the moment of the cancellation
                self.leave(caller)
            else:
                self._leave_line(caller, turn)
            raise

    def leave(self, caller: Whose) -> None:
        """Give the place back, to whoever is next in turn."""
        if self._is_alone(caller):
            left = self._inside = self._inside - 1
            if left:
                self._running[caller] = left
            else:
                del self._running[caller]
            self._left.append((caller, self._last_seen[caller]))
            return
        self._inside -= 1
        running = self._running.pop(caller) - 1
        if running:
            self._running[caller] = running
        now = self._see(caller)
        self._left.append((caller, now))
        if self._lines:
            if caller in self._lines:
                self._yields_until[caller] = now + YIELDS
            self._fill()

    def _fill(self) -> None:
        """Give the free places to those who may have them, in turn."""
        while self._inside < self._limit:
            following = next((one for one in self._lines if self._may_enter(one)), None)
            if following is None:
                self._fill_later()
                return
            self._give_place(following)

    def _fill_later(self) -> None:
        """Look again soon, where somebody lets others go first."""
        if self._filling is None and self._yields_until:
            self._filling = asyncio.get_running_loop().call_later(SOON, self._fill_now)

    def _fill_now(self) -> None:
        self._filling = None
        self._fill()

    def _give_place(self, caller: Whose) -> None:
        """Let the first of a caller's line in, and put the line behind those of the others."""
        line = self._lines.pop(caller)
        turn = line.popleft()
        if line:
            self._lines[caller] = line
        if not turn.done():
            self._take(caller)
            turn.set_result(None)

    def _take(self, caller: Whose) -> None:
        self._inside += 1
        self._running[caller] = self._running.get(caller, 0) + 1
        if self._yields_until:
            self._yields_until.pop(caller, None)

    def _leave_line(self, caller: Whose, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(caller)
        if line is None or turn not in line:
            return  # it was passed over when its turn came
        line.remove(turn)
        if not line:
            del self._lines[caller]
            self._yields_until.pop(caller, None)

    def _may_enter(self, caller: Whose) -> bool:
        if self._inside >= self._limit:
            return False
        if len(self._last_seen) == 1:
            return True
        running = self._running.get(caller, 0)
        if not running and caller not in self._lines:
            return True  # everybody has a share of one
        return running < self._share(caller, running)

    def _share(self, caller: Whose, running: int) -> int:
        """The places that a caller may have now among others, with those that it has."""
        if running + len(self._lines.get(caller, ())) > self._limit:
            return 0 if self._yields(caller) else max(1, self._limit // 32)
        return self._limit - self._limit // 4

    def _yields(self, caller: Whose) -> bool:
        """Whether one who floods is to let others go first: those who do not have a line."""
        now = time.monotonic()
        if now >= self._yields_until.get(caller, 0):
            return False
        since = now - SOON
        soon = takewhile(lambda one: self._last_seen[one] > since, reversed(self._last_seen))
        return any(one not in self._lines for one in chain(self._running, soon))

    def _is_alone(self, caller: Whose) -> bool:
        """Whether nobody else is about and nobody waits, as on stdio; notes that this one is.

        All calls inside are this caller's then: whoever runs a call is about.
        """
        seen = self._last_seen
        if len(seen) != 1 or caller not in seen or self._lines or self._yields_until:
            return False
        seen[caller] = time.monotonic()
        return True

    def _see(self, caller: Whose) -> float:
        """Note who is about, and return when; `_last_seen` is in the order of the times in it."""
        now, last_seen = time.monotonic(), self._last_seen
        last_seen.pop(caller, None)
        last_seen[caller] = now
        if now > self._about_until:
            self._forget_old(now)
        return now

    def _forget_old(self, now: float) -> None:
        """Forget those who are not about any more."""
        last_seen = self._last_seen
        while now - last_seen[first := next(iter(last_seen))] > ABOUT:
            del last_seen[first]
            if first in self._running or first in self._lines:
                last_seen[first] = now
        self._about_until = last_seen[first] + ABOUT

    def _busy(self, caller: Whose, waiting: int) -> Busy:
        """Say how long the line takes to empty, at the pace of this caller's last calls."""
        seconds = time.monotonic() - self._left[0][1] if self._left else 0
        each = seconds / max(1, sum(one == caller for one, _ in self._left))
        return Busy(
            f"{self._name} is busy: {self._inside} calls run and {waiting} of yours wait",
            details={
                "reason": "too_many_calls",
                "retry_after": min(LONGEST_WAIT, max(1, math.ceil(waiting * each))),
            },
        )
