"""Packs that ended the host's process: which, how, and until when they get one of their own."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..settings.loading import Settings
from ..settings.tables import PackTable
from ..startup import digests, folders
from ..startup.dataclass import dataclass
from .declared import LoadError
from .discovery import chosen, discover
from .flight import FOLDER, End, Work, ends, settings_word

log = logging.getLogger("mcp_host.packs")


@dataclass(frozen=True)
class LastEnd:
    """How a process of the host ended by a pack: in words, when, and which files the pack had.

    `how` reads "signal 11 (SIGSEGV) while importing x".
    """

    how: str
    time: float
    files: str
    tool: str = ""
    request_id: str = ""

    def as_data(self) -> dict[str, Any]:
        """What a person wants to know of it, as plain data."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.time))
        data = {"how": self.how, "tool": self.tool, "request_id": self.request_id}
        return {key: value for key, value in data.items() if value} | {"host_started": moment}


def last_ends(settings: Settings, owner: str) -> dict[str, LastEnd]:
    """Return the packs that ended a process of this server and have not changed since.

    What is read of processes that are no more is kept, in the user's cache folder, until the files
    of the pack or the settings change.
    """
    path = Path(folders.cache(), FOLDER, f"{owner}.json")
    new, known = ends(owner), _kept(path)
    if not new and not known:
        return {}
    names = {name for name, table in settings.packs.items() if table.enabled}
    word = settings_word(settings)
    now = {name: _files(settings.packs[name], name, word) for name in names}
    left = {
        name: end for name, end in known.items() if name in now and now[name].digest == end.files
    }
    for end in new:
        for work in end.works:
            _tell(work, end)
            if work.pack not in names or end.settings != word:
                continue
            if now[work.pack].changed < end.began:
                how = f"{end.how} while {_doing(work)}"
                files = now[work.pack].digest
                left[work.pack] = LastEnd(how, end.began, files, work.tool, work.request_id)
    if left != known:
        _keep(path, left)
    return left


def _tell(work: Work, end: End) -> None:
    about = {"traceback": end.stack, "pack": work.pack}
    log.warning(
        "the last end: %s while %s of pack %s%s",
        end.how,
        _doing(work),
        work.pack,
        f" (request {work.request_id})" if work.request_id else "",
        extra=about,
    )


def _doing(work: Work) -> str:
    return f"{work.phase} {work.tool}".strip()


@dataclass(frozen=True)
class _Files:
    """A word for what a pack's files and the settings are, and when its files changed last."""

    digest: str
    changed: float


def _files(table: PackTable, name: str, settings: str) -> _Files:
    found: list[tuple[str, int, int]] = []
    about: list[str] = []
    with suppress(LoadError, ImportError, ValueError, AttributeError, OSError):
        offer = chosen(name, table, discover({name}))
        about += [offer.distribution, offer.version, offer.module, offer.file]
        package = offer.module.partition(":")[0].partition(".")[0]
        found += [_time(Path(offer.file))] if offer.file else _times(package)
    changed = max((mtime for _, mtime, _ in found), default=0) / 1e9
    own = table.model_dump(mode="json", exclude={"isolation"})
    text = json.dumps([own, found, about, settings], default=str)
    return _Files(digests.sha256(text.encode()).hexdigest(), changed)


def _times(package: str) -> Iterator[tuple[str, int, int]]:
    """Give every file of a package that is not imported, with its time and size."""
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if spec is not None and not places and spec.origin:
        places = [spec.origin]
    for place in places:
        for file in sorted([Path(place), *Path(place).rglob("*")]):
            if "__pycache__" not in file.parts and file.is_file():
                yield _time(file)


def _time(file: Path) -> tuple[str, int, int]:
    about = file.stat()
    return str(file), about.st_mtime_ns, about.st_size


def _kept(path: Path) -> dict[str, LastEnd]:
    try:
        data: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        return {name: LastEnd(**end) for name, end in data.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _keep(path: Path, left: Mapping[str, LastEnd]) -> None:
    with suppress(OSError):
        if not left:
            path.unlink()
            return
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({name: vars(end) for name, end in left.items()}), "utf-8")
        draft.replace(path)
