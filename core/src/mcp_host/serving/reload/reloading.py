"""Reads one host's settings again, and has the host serve by them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

from ...errors import McpHostError
from ...host import Host
from ...packs.preparing import discard, prepare
from ...packs.renewal import Renewal
from ...settings.loading import Settings
from ...settings.lock_place import lock_file
from ...startup import trust

log = logging.getLogger("mcp_host.server")

BEAT = 1.0
"""Seconds between two looks at the files of a host that watches them."""

WORDS = {
    "opened": "opened",
    "changed": "changed",
    "closed": "closed",
    "failed": "failed",
    "after_restart": "counts after a restart",
}


class Reloading:
    """Reloads one host, one time after the other; every method belongs to the host's loop.

    `read` reads the settings again, and raises `McpHostError` where they cannot be used.
    `error` says why the last reload has changed nothing, empty where it has not failed, and
    `after_restart` has the keys of the file that do not count yet.
    """

    def __init__(self, host: Host, read: Callable[[], Settings]) -> None:
        self.error = ""
        self.after_restart: tuple[str, ...] = ()
        self._host = host
        self._read = read
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._seen = self._states()

    @property
    def source(self) -> str | None:
        """The settings file of the host."""
        source = self._host.settings.source
        return None if source is None else str(source)

    def about(self) -> dict[str, Any]:
        """Return what runs, for `mcp-host doctor` to compare it with the file."""
        return {
            "settings": self.source,
            "digest": self._host.settings.digest,
            "after_restart": list(self.after_restart),
            "error": self.error,
        }

    def soon(self) -> None:
        """Reload without waiting for it."""
        task = asyncio.create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reload(self, anew: Collection[str] = ()) -> dict[str, Any]:
        """Read the settings again, and return what that has changed, or why nothing.

        The packs `anew` are loaded and opened anew also where their settings are the same; what
        lives in a process of its own has the code that its files have now.
        """
        async with self._turn:
            self._seen = self._states()
            about = {"settings": self.source}
            try:
                told = await self._reloaded(anew)
            except McpHostError as error:
                self.error = self._host.settings.secrets.redact(str(error))
                log.warning("the settings were not reloaded, nothing has changed: %s", self.error)
                return {**about, "reloaded": False, "error": self.error}
            self.error = ""
            log.warning("the settings were reloaded: %s", in_words(told))
            return {**about, "reloaded": True, **told}

    async def watch(self, reload: Callable[[], Awaitable[Any]] | None = None) -> None:
        """Reload whenever the settings file has changed, its lock file, one that it reads secrets
        from, or one that is a pack.
        """
        while True:
            await asyncio.sleep(BEAT)
            if await asyncio.to_thread(self._states) != self._seen:
                await (reload or self.reload)()

    def close(self) -> None:
        """Begin no more; what has begun ends with the loop."""
        for task in self._tasks:
            task.cancel()

    async def _reloaded(self, anew: Collection[str]) -> dict[str, list[str]]:
        host = self._host
        await host.imported()
        settings = await asyncio.to_thread(self._read)
        host.settings.secrets.learn(settings.secrets)
        settings = settings.replace(secrets=host.settings.secrets)
        renewal = await asyncio.to_thread(prepare, host.inventory, settings, anew)
        if host.is_closing:
            discard(renewal)
            return {}
        before = {name for name, pack in host.packs.items() if pack.declared is not None}
        host.renew(renewal)
        self.after_restart = renewal.after_restart
        await host.decided(renewal.loaded)
        return self._told(renewal, before)

    def _told(self, renewal: Renewal, before: set[str]) -> dict[str, list[str]]:
        packs, loaded = self._host.packs, renewal.loaded
        failed = [
            name for name in loaded if name in packs and packs[name].condition.state == "failed"
        ]
        good = [name for name in loaded if name not in failed]
        return {
            "opened": [name for name in good if name not in before],
            "changed": [*(name for name in good if name in before), *renewal.relisted],
            "closed": [name for name in renewal.gone if name in before],
            "failed": [packs[name].sentence for name in failed],
            "after_restart": list(renewal.after_restart),
        }

    def _states(self) -> dict[str, tuple[int, int, int] | None]:
        settings = self._host.settings
        packs = [table.file for table in settings.packs.values() if table.file is not None]
        files = [*filter(None, [self.source, trust.record_file()])]
        if settings.source is not None:
            files.append(str(lock_file(settings.source)))
        return states([*files, *settings.secrets.files, *packs])


def in_words(told: Mapping[str, Any]) -> str:
    """Say what a reload has changed."""
    words = [f"{WORDS[key]}: {', '.join(told[key])}" for key in WORDS if told.get(key)]
    return "; ".join(words) or "nothing has changed"


def states(files: Iterable[str]) -> dict[str, tuple[int, int, int] | None]:
    """Return size, time and number of each file, None where it is not there."""
    return {name: _state(name) for name in files}


def _state(name: str) -> tuple[int, int, int] | None:
    try:
        about = os.stat(name)  # noqa: PTH116 - a name is what there is
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns, about.st_ino
