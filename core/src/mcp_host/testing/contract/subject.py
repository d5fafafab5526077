"""The pack that is checked: where it is, what it declares, and a host that serves it alone."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...packs.declared import Offer
from ...packs.discovery import chosen, discover
from ...packs.entry import Entry, What
from ...packs.inventory import Inventory
from ...packs.single_file import MODULE
from ...settings.loading import parse
from ..hosting import Hosted, serving
from ..person import Person

_FOLDERS = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")


@dataclass(frozen=True)
class Subject:
    """A pack that is checked, with the settings it gets; all that it keeps goes to `root`.

    Relative paths in `settings` start at `folder`, else at `root`. Where it is a single `file`,
    `module` is the name that it is imported under. `codes` has how
    calls of each tool ended: "ok" where one succeeded, else the last error's code.
    """

    name: str
    module: str
    root: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    folder: Path | None = None
    codes: dict[str, str] = field(default_factory=dict)

    def note(self, tool: str, code: str) -> None:
        """Note how a call of a tool ended; refused arguments say the least."""
        if self.codes.get(tool) != "ok" and (code != "validation_error" or tool not in self.codes):
            self.codes[tool] = code

    @property
    def source(self) -> Path:
        """The settings file that the settings would stand in."""
        return (self.folder or self.root).absolute() / "mcp-host.toml"

    def tables(self, **more: Any) -> dict[str, Any]:
        """The settings file's tables that serve the pack; `more` goes into its own."""
        table = {"enabled": True, "settings": dict(self.settings), **more}
        if self.file is not None:
            table["file"] = str(self.file.absolute())
        host = {"root": str(self.root), "timeout": 20}
        return {"host": host, "packs": {self.name: table}}

    def inventory(self) -> Inventory:
        """The pack, loaded and asked, without being opened."""
        found = [] if self.file else discover({self.name}).get(self.name, ())
        own = [offer for offer in found if offer.module == self.module]
        offers = {self.name: own[:1] or [Offer(self.name, self.module, self.name, "0")]}
        inventory = Inventory(parse(self.tables(), self.source), offers=offers)
        inventory.load()
        inventory.wait_loaded()
        return inventory

    @asynccontextmanager
    async def served(self, **more: Any) -> AsyncIterator[Hosted]:
        """A host with the pack alone, called by somebody who agrees to everything."""
        tables = self.tables(**more)
        tables["host"]["isolation"] = "thread"
        async with serving({self.name: self.module}, parse(tables, self.source)) as host:
            yield host.seen_by(person=Person())


@contextmanager
def subject(
    name: str,
    module: str,
    settings: Mapping[str, Any] | None = None,
    file: Path | None = None,
    folder: Path | None = None,
) -> Iterator[Subject]:
    """A pack in an empty folder, which goes with it, and with folders of its own."""
    with TemporaryDirectory(prefix="mcp-host-check-", ignore_cleanup_errors=True) as made:
        root = Path(made)
        with _own_folders(root):
            (root / "project").mkdir()
            yield Subject(name, module, root / "project", settings or {}, file, folder)


def installed(name: str) -> str:
    """The plugin module of an installed pack; `LoadError` where there is none."""
    table = parse({"packs": {name: {"enabled": True}}}, None).packs[name]
    return chosen(name, table, discover({name})).module


def file_module(name: str) -> str:
    """The name that a pack is imported under which is a single file."""
    return f"{MODULE}{name}"


@contextmanager
def _own_folders(root: Path) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _FOLDERS}
    for name in _FOLDERS:
        os.environ[name] = str(root / name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def own_entries(host: Hosted, of: Subject, what: What) -> list[Entry]:
    """The entries of one list that are the checked pack's."""
    return [entry for entry in host.host.inventory.lists.entries(what) if entry.pack == of.name]


class Tracebacks(logging.Handler):
    """Keeps what the host's log says of failed calls, for the message to a pack's author."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = getattr(record, "traceback", "") or self.last

    def cause(self) -> str:
        """The last line of the last traceback that says something: the exception and its text."""
        lines = [line for line in self.last.splitlines() if line.strip() and _SEE not in line]
        return lines[-1].strip()[:300] if lines else ""


_SEE = "For further information visit"
"""What pydantic ends its errors with."""


@contextmanager
def tracebacks() -> Iterator[Tracebacks]:
    """Hear of the tracebacks that the host logs."""
    handler = Tracebacks()
    logger = logging.getLogger("mcp_host")
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
