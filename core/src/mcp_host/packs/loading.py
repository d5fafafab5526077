"""Loads packs: imports each in a thread, asks it everything but to open, and checks the answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..settings.loading import Settings
from ..settings.tables import PackTable
from ..startup.descriptors import Spare
from .conditions import Condition
from .declared import Declared, LoadError, Offer, Outcome
from .declaring import OnStep, declare
from .discovery import chosen, discover
from .flight import Flight
from .hooks import Hooks
from .threads import named_for
from .words import told, trace

if TYPE_CHECKING:
    from .children.supervisor import Supervisor

log = logging.getLogger("mcp_host.packs")

PATIENCE = 0.8
"""Seconds that the first lists wait for packs that turn out to be slow, all of them together."""
LEAST = 0.05
"""Seconds that they wait for each pack, however many were slow before it."""
SPARE = 24
"""Descriptors that are kept for the host meanwhile, and four more for each pack."""
AT_ONCE = 4
"""How many packs are imported at once, each in a process of its own."""
PACE = 0.25
"""Seconds after which the next is begun all the same."""


class Loading:
    """Packs being loaded, each in a thread of its own so that none can hold up the others.

    `load` returns what is known after a moment's patience; whatever comes later, in time or too
    late, is told to `later`, from another thread. Packs with a process of their own begin first,
    all at once, since their processes share nothing; `supervisor` starts them. What packs do in
    this process is noted in `flight`.
    """

    def __init__(
        self,
        settings: Settings,
        later: Callable[[str, Outcome], None],
        offers: Mapping[str, Sequence[Offer]] | None = None,
        *,
        supervisor: Callable[[], Supervisor],
        prefixed: bool,
        flight: Flight,
    ) -> None:
        self._flight = flight
        self._settings = settings
        self._later = later
        self._offers = offers
        self._supervisor = supervisor
        self._prefixed = prefixed
        self._hooks = Hooks()

    def load(self) -> dict[str, Outcome | None]:
        """Load every enabled pack, in the file's order; None stands for one still loading."""
        enabled = {name: t for name, t in self._settings.packs.items() if t.enabled}
        offers = self._offers
        if offers is None:
            offers = discover(enabled.keys()) if enabled else {}
        begun: dict[str, Attempt | Condition] = {
            name: self._attempt(name, table, offers)
            for name, table in enabled.items()
            if self._settings.is_apart(name)
        }
        start_paced([one for one in begun.values() if isinstance(one, Attempt)])
        outcomes: dict[str, Outcome | None] = {}
        patience = PATIENCE
        spare = Spare(SPARE + 4 * len(enabled))
        for name, table in enabled.items():
            allowed = max(patience, LEAST)
            attempt = begun.get(name)
            if attempt is None:
                attempt = self._attempt(name, table, offers)
                if isinstance(attempt, Attempt):
                    attempt.start()
            outcomes[name] = self._outcome(name, attempt, allowed)
            if outcomes[name] is None:
                patience -= allowed
        spare.release()
        return outcomes

    def _attempt(
        self, name: str, table: PackTable, offers: Mapping[str, Sequence[Offer]]
    ) -> Attempt | Condition:
        """Return what loads a pack; a condition where that cannot be."""
        offer: Offer | None = None
        try:
            knows_itself = table.python is not None and table.file is None
            if not knows_itself and name not in self._settings.workers:
                offer = chosen(name, table, offers)
        except LoadError as error:
            return error.condition
        declaring = self._declaring(name, offer)
        return Attempt(name, declaring, self._settings.host.start_timeout)

    def _declaring(self, name: str, offer: Offer | None) -> Callable[[OnStep], Declared]:
        """Return what has a pack declare: here, or in a process of its own."""
        if offer is not None and not self._settings.is_apart(name):
            return lambda step: self._declare_here(offer, step)
        from .apart import Apart  # a host without such packs starts faster without

        return Apart(name, offer, self._settings, self._supervisor(), self._prefixed).declare

    def _declare_here(self, offer: Offer, step: OnStep) -> Declared:
        slots = [self._flight.start(offer.name, "loading")]

        def noted(what: str) -> None:
            self._flight.stop(slots.pop())
            slots.append(self._flight.start(offer.name, what))
            step(what)

        try:
            return declare(offer, self._settings, self._hooks, noted)
        finally:
            self._flight.stop(slots.pop())

    def _outcome(self, name: str, attempt: Attempt | Condition, patience: float) -> Outcome | None:
        if isinstance(attempt, Condition):
            return attempt
        outcome = attempt.wait(min(patience, self._settings.host.start_timeout))
        if outcome is None:
            watch = threading.Thread(
                target=lambda: self._later(name, attempt.result()), daemon=True
            )
            watch.start()
        return outcome


def start_paced(attempts: Sequence[Attempt]) -> None:
    """Start attempts, a few at once, since each must end its steps in time; returns at once.

    One that takes long, because it waits or hangs, holds up the next for no more than a moment.
    """
    free = threading.Semaphore(AT_ONCE)

    def start() -> None:
        for attempt in attempts:
            free.acquire(timeout=PACE)
            attempt.start(free.release)

    threading.Thread(target=start, name="pack-loading", daemon=True).start()


class Attempt:
    """Loading one pack in a thread that bears its name.

    A step that takes over `limit` seconds is given up.
    """

    def __init__(self, pack: str, declare: Callable[[OnStep], Declared], limit: float) -> None:
        self._pack = pack
        self._declare = declare
        self._limit = limit
        self._ended = threading.Condition()
        self._step = "starting"
        self._since: float | None = None
        self._outcome: Outcome | None = None

    def start(self, on_end: Callable[[], object] | None = None) -> None:
        """Begin to load; `on_end` is called in the thread that does."""

        entry = named_for(self._pack, self._run)

        def run() -> None:
            entry()
            if on_end is not None:
                on_end()

        threading.Thread(target=run, name="pack-loading", daemon=True).start()

    def wait(self, seconds: float) -> Outcome | None:
        """Return the outcome if it is there within so many seconds."""
        with self._ended:
            self._ended.wait_for(lambda: self._outcome is not None, seconds)
            return self._outcome

    def result(self) -> Outcome:
        """Return the outcome, or the failure of a step that does not end."""
        with self._ended:
            while self._outcome is None:
                step, left = self._step, self._left
                if left <= 0:
                    self._outcome = Condition(
                        "failed",
                        "load_timeout",
                        f"{step} took longer than {self._limit:g} s",
                        "look at what the pack does at that moment, or disable it",
                    )
                else:
                    self._ended.wait(left)
            return self._outcome

    @property
    def _left(self) -> float:
        """Seconds until the step at hand is given up; what has not begun may wait its turn."""
        if self._since is None:
            return self._limit
        return self._since + self._limit - time.monotonic()

    def _next(self, step: str) -> None:
        """Note what is done next; nobody is woken for it, least of all the first answers."""
        self._step, self._since = step, time.monotonic()

    def _run(self) -> None:
        outcome: Outcome
        try:
            outcome = self._declare(self._next)
        except LoadError as error:
            outcome = error.condition
        except BaseException as error:
            of_it = {"traceback": trace(error)}
            log.warning("pack %s could not be loaded", self._pack, extra=of_it)
            outcome = Condition(
                "failed",
                "load_failed",
                told(error),
                "the log of `mcp-host serve` has the traceback",
            )
        with self._ended:
            if self._outcome is None:
                self._outcome = outcome
            self._ended.notify_all()
