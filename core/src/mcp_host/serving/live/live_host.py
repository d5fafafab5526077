"""The hosts of this user that run, for programs that look at them."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import SettingsError
from ..reload.control import ask, asked_of, connected


class LiveHost:
    """A process of this user that serves packs, found by its socket; not on Windows.

    `process` is its number, `settings` the settings file it is asked about (None: all that it
    serves). A host of another user is never found. Where the process has ended, every method
    raises `SettingsError`.
    """

    def __init__(self, process: int, settings: str | None = None) -> None:
        self.process = process
        self.settings = settings

    @classmethod
    def find(cls, settings: Path | None = None, process: int | None = None) -> list[LiveHost]:
        """Return the hosts that run: all, or those of a settings file or with a number."""
        if sys.platform == "win32":
            raise SettingsError("running hosts cannot be looked at on Windows")
        wanted = None if settings is None else str(settings.absolute())
        found = []
        for told in ask("status"):
            serves = [host["settings"] for host in told.get("hosts", ())]
            if process in (None, told["process"]) and (wanted in serves or wanted is None):
                found.append(cls(told["process"], wanted))
        return found

    def lists(self) -> list[dict[str, Any]]:
        """Return what each host of the process lists now: its `settings`, `packs`, `tools` …"""
        hosts: list[dict[str, Any]] = self._asked({"do": "lists"})["hosts"]
        return hosts

    def replace(self, *packs: str) -> list[dict[str, Any]]:
        """Have packs loaded anew, in place of those that serve; return what came of it.

        A pack in a process of its own gets a new one, with its code as it is now. One that cannot
        be loaded stays as it was, and its `error` says why.
        """
        hosts: list[dict[str, Any]] = self._asked({"do": "replace", "packs": packs})["hosts"]
        return hosts

    def follow(self, *, values: bool = False) -> LiveFeed:
        """Hear of every call from now on; with `values` what is in arguments and answers too."""
        question = {"do": "follow", "values": values, "settings": self.settings}
        peer = connected(self.process)
        if peer is None:
            raise self._ended()
        peer.settimeout(None)
        peer.sendall(json.dumps(question).encode() + b"\n")
        return LiveFeed(peer)

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        told = asked_of(self.process, {**question, "settings": self.settings})
        if told is None or "problem" in told:
            raise self._ended() if told is None else SettingsError(told["problem"])
        return told

    def _ended(self) -> SettingsError:
        return SettingsError(f"the host of process {self.process} has ended")


class LiveFeed:
    """The events of a running host, one after the other, until it ends or `close` is called.

    An event is a mapping with `event`: `following` first, then of calls `began`, `progress`,
    `log`, `notified`, `asked`, `answered` and `ended`, each with the call's `id`; and
    `lists_changed`, `changed` and `missed`.
    """

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._lines = peer.makefile("rb")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            for line in self._lines:
                yield json.loads(line)
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """Hear no more; in any thread."""
        try:
            self._peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
        finally:
            self._peer.close()
