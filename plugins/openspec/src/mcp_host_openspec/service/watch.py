"""Notices edits to a tree and tells which resources they change."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from watchfiles import Change, awatch

from ..errors import OpenSpecError
from ..model.uris import ARCHIVE, CHANGES, INSTRUCTIONS, PROJECT, SPECS, change_uri, spec_uri
from ..storage.files import is_folder
from ..storage.snapshot import Snapshot
from .openspec import OpenSpec

Batch = set[tuple[Change, str]]

log = logging.getLogger(__name__)

_TEXTS: Final = {"proposal.md": "proposal", "tasks.md": "tasks", "design.md": "design"}


class Listing(NamedTuple):
    """What a tree held at one moment."""

    changes: frozenset[str]
    capabilities: frozenset[str]

    @classmethod
    def of(cls, openspec: OpenSpec) -> "Listing":
        """What the tree holds now; nothing where it cannot be listed."""
        try:
            return cls(frozenset(openspec.change_ids()), frozenset(openspec.capabilities()))
        except OpenSpecError:
            return cls(frozenset(), frozenset())


def touched(paths: Iterable[PurePosixPath]) -> set[str]:
    """The resources that edits of these files, relative to the tree, change."""
    return {uri for path in paths for uri in _touched(path)}


def _touched(path: PurePosixPath) -> Iterator[str]:
    match path.parts:
        case ("AGENTS.md",):
            yield INSTRUCTIONS
        case ("project.md" | "config.yaml" | "config.yml",):
            yield PROJECT
        case ("specs", *_, name) if name.startswith("."):
            return
        case ("specs", *capability, "spec.md") if capability:
            yield from (SPECS, spec_uri("/".join(capability)))
        case ("specs", *_):
            yield SPECS
        case ("changes",):
            yield from (CHANGES, ARCHIVE)
        case ("changes", "archive", name, *_) if name.startswith("."):
            return
        case ("changes", "archive", *_):
            yield ARCHIVE
        case ("changes", change, text) if text in _TEXTS:
            yield from (CHANGES, change_uri(change), change_uri(change, _TEXTS[text]))
        case ("changes", change, *_):
            yield from (CHANGES, change_uri(change))


def moved(before: Listing, after: Listing) -> set[str]:
    """The resources that came or went, for folders that were moved as a whole."""
    changes = before.changes ^ after.changes
    uris = {
        uri
        for change in changes
        for uri in (change_uri(change), *(change_uri(change, t) for t in _TEXTS.values()))
    }
    return uris | {spec_uri(name) for name in before.capabilities ^ after.capabilities}


class Watch:
    """Watches one tree, or the place where it will be, until it is cancelled.

    It may begin late: what was edited since the snapshot `before` is told once the watch is set.
    """

    def __init__(
        self,
        openspec: OpenSpec,
        before: Snapshot,
        *,
        changed: Callable[[str], None],
        appeared: Callable[[], None],
        vanished: Callable[[], None],
        debounce: float,
    ) -> None:
        self._openspec = openspec
        self._before = before
        self._changed = changed
        self._appeared = appeared
        self._vanished = vanished
        self._debounce = max(50, int(1000 * debounce))

    async def run(self) -> None:
        """Watch; where the system has no watches left, look again and again instead."""
        if self._openspec.is_there != self._before.is_there:
            (self._vanished if self._before.is_there else self._appeared)()
            self._tell_all()
        polling = False
        while True:
            try:
                if self._openspec.is_there:
                    await self._watch_tree(polling=polling)
                else:
                    await self._watch_place(polling=polling)
            except (OSError, FileNotFoundError) as error:
                log.warning("watching %s: %s; polling instead", self._openspec.tree.openspec, error)
                polling = True

    async def _watch_tree(self, *, polling: bool) -> None:
        tree = self._openspec.tree.openspec
        changes = awatch(
            tree,
            watch_filter=None,
            debounce=self._debounce,
            step=min(50, self._debounce),
            force_polling=polling or None,
            ignore_permission_denied=True,
        )
        known = Listing(frozenset(), frozenset())
        async for batch in self._batches(changes):
            if batch is None:
                known = await asyncio.to_thread(Listing.of, self._openspec)
                await self._tell_edited(tree)
                continue
            now = await asyncio.to_thread(Listing.of, self._openspec)
            paths = (_relative(path, tree) for _, path in batch)
            for uri in sorted(touched(filter(None, paths)) | moved(known, now)):
                self._changed(uri)
            known = now
            if not self._openspec.is_there:
                self._vanished()
                self._tell_all()
                return

    async def _watch_place(self, *, polling: bool) -> None:
        """Wait for the tree to appear, however many folders above it are missing too."""
        tree = self._openspec.tree.openspec
        place = next(folder for folder in tree.parents if is_folder(folder))
        changes = awatch(
            place,
            watch_filter=None,
            recursive=False,
            debounce=self._debounce,
            step=min(50, self._debounce),
            force_polling=polling or None,
            yield_on_timeout=True,
            rust_timeout=1000,
        )
        async for _ in self._batches(changes):
            if self._openspec.is_there:
                self._appeared()
                self._tell_all()
                return
            if not place.is_dir() or any(f.is_dir() for f in tree.parents if place in f.parents):
                return

    async def _batches(self, changes: AsyncGenerator[Batch, None]) -> AsyncIterator[Batch | None]:
        """None once the watch is set, then what changed, batch by batch."""

        async def upcoming() -> Batch:
            return await anext(changes)

        # The first step of the generator sets the watch, and only then waits.
        first = asyncio.create_task(upcoming())
        await asyncio.sleep(0)
        try:
            yield None
            yield await first
            async for batch in changes:
                yield batch
        finally:
            first.cancel()

    async def _tell_edited(self, tree: Path) -> None:
        """Tell what was edited before the watch was set."""
        now = await asyncio.to_thread(Snapshot.of, tree)
        for uri in sorted(touched(self._before.edited(now))):
            self._changed(uri)
        self._before = now

    def _tell_all(self) -> None:
        for uri in (INSTRUCTIONS, PROJECT, SPECS, CHANGES, ARCHIVE):
            self._changed(uri)


def _relative(path: str, tree: Path) -> PurePosixPath | None:
    for base in (tree, tree.resolve()):
        if Path(path).is_relative_to(base):
            return PurePosixPath(Path(path).relative_to(base).as_posix())
    return None
