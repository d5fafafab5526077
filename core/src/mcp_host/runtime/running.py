"""The packs that serve: opened, one in another's place while calls run, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..packs.conditions import Condition
from ..packs.declared import Declared
from ..packs.inventory import Inventory
from ..packs.naming import Naming
from ..packs.pack import Pack
from ..startup import folders
from .health import Health
from .lifecycle import Lifecycle, Limits
from .mailbox import Mailbox, PackListener
from .offered import OfferedEntries
from .offers import Offers
from .pack_handle import pack_handle
from .thread_worker import ThreadWorker
from .turns import open_in_turn
from .worker import Worker

UNEXPECTED = "see to what the reason names; the log of `mcp-host serve` has the traceback"


class _Offers(NamedTuple):
    """What one pack offers while it serves, and where more of it may wait."""

    entries: OfferedEntries
    mailbox: Mailbox


class RunningPacks:
    """The loaded packs of an inventory, each with a lifecycle, and what runs it, by its name.

    `listener` makes what hears one pack, and `on_condition` hears of another condition of one.
    `is_watched` says in any thread whether somebody is to hear that a resource changed before the
    answer that follows, and `is_heard` whether anybody is to hear of it at all. `retries` opens a
    pack again that could not be opened. All methods belong to the host's loop.

    Invariants: a pack that runs has its lifecycle, its opening and its offers, by its name;
    `_with_bus` are those that have what tells other processes.
    """

    def __init__(
        self,
        inventory: Inventory,
        listener: Callable[[Pack, Health, OfferedEntries], PackListener],
        on_condition: Callable[[Pack, Condition], None],
        is_watched: Callable[[str], bool],
        is_heard: Callable[[str], bool],
        *,
        retries: bool,
    ) -> None:
        self.lifecycles: dict[str, Lifecycle] = {}
        self._inventory = inventory
        self._listener = listener
        self._on_condition = on_condition
        self._is_watched = is_watched
        self._is_heard = is_heard
        self._retries = retries
        self._watched: dict[str, frozenset[str]] = {}
        self._with_bus: set[str] = set()
        self._offers: dict[str, _Offers] = {}
        self._openings: dict[str, asyncio.Task[None]] = {}
        self._draining: set[asyncio.Task[None]] = set()
        self._turns: asyncio.Task[None] | None = None

    def open(self, *, in_turn: bool) -> None:
        """Begin to open every loaded pack, `in_turn` one after the other where nobody waits."""
        for pack in self._inventory.packs.values():
            self.start(pack)
        if in_turn and (held := self._held()):
            self._turns = asyncio.create_task(open_in_turn(held))

    def start(self, pack: Pack, after: asyncio.Task[None] | None = None) -> None:
        """Begin to open a pack, unless it is not loaded or has begun.

        `after` is something that ends before, for which it waits no longer than `grace`.
        """
        if pack.declared is not None and pack.name not in self._openings:
            lifecycle = self.lifecycles[pack.name] = self._lifecycle(pack, pack.declared)
            if pack.declared.bus is not None:
                self._with_bus.add(pack.name)
            grace = self._inventory.settings.host.grace
            running = lifecycle.run() if after is None else _after(after, grace, lifecycle.run)
            self._openings[pack.name] = asyncio.create_task(running)
            self._tell_skills()

    def _tell_skills(self) -> None:
        """Let packs in processes of their own know the skills of all packs."""
        packs = self._inventory.packs.values()
        if not any(pack.declared is not None and pack.declared.is_apart for pack in packs):
            return
        from .process.worker import ProcessWorker  # a host without such packs starts without

        skills = [asdict(one) for one in self._inventory.skills]
        for lifecycle in self.lifecycles.values():
            if isinstance(lifecycle.worker, ProcessWorker):
                lifecycle.worker.tell_skills(skills)

    def replace(self, name: str) -> asyncio.Task[None] | None:
        """Let a pack end with its last call; return what ends then, where there is anything."""
        lifecycle, opening = self.lifecycles.pop(name, None), self._openings.pop(name, None)
        if lifecycle is None or opening is None:
            return None
        self._with_bus.discard(name)
        self.clear_offers(name)
        del self._offers[name]
        lifecycle.replaced()
        draining = asyncio.create_task(_drained(lifecycle, opening))
        self._draining.add(draining)
        draining.add_done_callback(self._draining.discard)
        return draining

    async def decided(self, packs: Sequence[Pack]) -> None:
        """Wait until these packs, which are loaded, are open or have failed to be."""
        running = [self.lifecycles[pack.name] for pack in packs if pack.name in self.lifecycles]
        for lifecycle in running:
            lifecycle.begin()
        await asyncio.gather(*(lifecycle.health.decided() for lifecycle in running))

    async def offered(self, packs: Sequence[Pack]) -> bool:
        """Wait for those of these packs that add to their lists as they open; return whether any
        had to be waited for."""
        waited = False
        for pack in packs:
            changes = pack.declared is not None and pack.declared.needs.changes_lists
            if changes and pack.condition.state == "opening" and pack.name in self.lifecycles:
                await self.lifecycles[pack.name].health.decided()
                self._offers[pack.name].mailbox.empty()
                waited = True
        return waited

    def clear_offers(self, name: str) -> None:
        """Forget what a pack has offered that is not open any more."""
        offers = self._offers[name]
        offers.mailbox.empty()  # what it still said belongs to what it was
        offers.entries.clear()

    def left(self, whose: str) -> bool:
        """Forget what was offered to a caller who has left; return whether there was anything."""
        left = [offers.entries.leave(whose) for offers in self._offers.values()]  # every one
        return any(left)

    def watched(self, name: str, uris: frozenset[str]) -> None:
        """Let a pack know which of its resources clients watch now."""
        self._watched[name] = uris
        if name in self.lifecycles:
            self.lifecycles[name].worker.watched(uris)

    def publish(self, notices: Sequence[str]) -> None:
        """Have the packs that have a bus tell other processes."""
        for name in self._with_bus:
            self.lifecycles[name].worker.publish(notices)

    def has_bus(self) -> bool:
        """Whether a pack has what tells other processes; in any thread."""
        return bool(self._with_bus)

    async def close(self) -> None:
        """Close every pack, all at once, each within its time."""
        if self._turns is not None:
            self._turns.cancel()
        for task in (*self._openings.values(), *self._draining):
            task.cancel()
        await asyncio.gather(*self._openings.values(), *self._draining, return_exceptions=True)
        closing = (lifecycle.close() for lifecycle in self.lifecycles.values())
        await asyncio.gather(*closing, return_exceptions=True)

    def _held(self) -> list[Lifecycle]:
        """Hold the packs that nobody waits for yet, and return them."""
        held = []
        for name, lifecycle in self.lifecycles.items():
            pack = self._inventory.packs[name]
            changes_lists = pack.declared is not None and pack.declared.needs.changes_lists
            if not changes_lists and not self._inventory.is_required(pack):
                lifecycle.hold()
                held.append(lifecycle)
        return held

    def _lifecycle(self, pack: Pack, declared: Declared) -> Lifecycle:
        inventory, host = self._inventory, self._inventory.settings.host
        naming = Naming(declared, inventory.alone is None)
        health = Health(partial(self._on_condition, pack))
        entries = OfferedEntries(
            inventory.catalog,
            declared,
            naming,
            lambda key: worker.forget(key),
            may_replace=declared.is_brought,
        )
        listener = self._listener(pack, health, entries)
        mailbox = Mailbox(
            listener,
            asyncio.get_running_loop(),
            is_watched=self._is_watched,
            is_heard=self._is_heard,
        )
        self._offers[pack.name] = _Offers(entries, mailbox)
        folder = (Path(folders.data()) / pack.name, Path(folders.cache()) / pack.name)
        worker: Worker
        if declared.is_apart:
            worker = _in_process(declared, folder, mailbox, health, host.grace)
        else:
            offers = Offers(declared, mailbox.list_change)
            handle = pack_handle(
                declared,
                naming,
                offers,
                mailbox,
                folder,
                watched=lambda: self._watched.get(declared.name, frozenset()),
                skills=lambda: inventory.skills,
                secret_variables=lambda: inventory.settings.secrets.variables,
            )
            worker = ThreadWorker(
                declared, handle, offers, mailbox, health.abandoned, inventory.flight
            )
        worker.watched(self._watched.get(pack.name, frozenset()))
        is_retried = self._retries and not inventory.is_required(pack)
        return Lifecycle(
            pack.name,
            worker,
            health,
            Limits(host.start_timeout, host.grace, host.retry_after if is_retried else None),
            hint="" if inventory.alone else UNEXPECTED,
        )


async def _drained(lifecycle: Lifecycle, opening: asyncio.Task[None]) -> None:
    """Close a pack that was replaced, once its last call has ended; at once where cancelled."""
    try:
        await lifecycle.drained()
    finally:
        opening.cancel()
        await asyncio.wait({opening})
        await lifecycle.close()


async def _after(
    other: asyncio.Task[None], seconds: float, following: Callable[[], Awaitable[None]]
) -> None:
    """Go on once a task has ended, or so many seconds later."""
    await asyncio.wait({other}, timeout=seconds)
    await following()


def _in_process(
    declared: Declared, folder: tuple[Path, Path], mailbox: Mailbox, health: Health, grace: float
) -> Worker:
    """What runs a pack in a process of its own."""
    from ..packs.apart import DeclaredApart  # a host without such packs starts without
    from .process.worker import ProcessWorker

    assert isinstance(declared, DeclaredApart)
    process = declared.process
    return ProcessWorker(declared, process, folder, mailbox, health.abandoned, let_go=grace)
