"""What archives, `new` and `rebase` keep in the tree, so that parallel changes can be merged.

All of it lies in `openspec/.records/`, which the reference tool does not look at, one small file
for each fact, so that branches that keep different facts merge without a conflict:

    bases/<change>/<digest>.json   the text of a requirement that a change was written against
    bases/<change>/specs.json      the specs as they were when a change was begun
    archived/<change>.json         what an archive did to the specs, so that it can be undone
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from ..errors import BadFileError
from .files import Files

T = TypeVar("T")

FOLDER: Final = ".records"
_SPECS: Final = "specs.json"


class BaseRecord(NamedTuple):
    """The text of a requirement that a change was written against."""

    capability: str
    requirement: str
    text: str
    renamed: str | None = None
    """Its name since then, where an archive gave it another."""


class Edit(NamedTuple):
    """Lines `begin` to `end` are replaced."""

    begin: int
    end: int
    lines: tuple[str, ...]


class SpecRecord(NamedTuple):
    """What an archive did to one spec: `edits` make of what it wrote what was there before."""

    capability: str
    before: str | None
    """What git calls the content from before; None where there was no file."""
    after: str | None
    edits: tuple[Edit, ...]


class ArchiveRecord(NamedTuple):
    """What an archive did."""

    change: str
    specs: tuple[SpecRecord, ...]
    bases: Mapping[str, str]
    """The records about the change itself, by file name, which went with it."""


class Records:
    """The records of one tree."""

    def __init__(self, openspec: Path, files: Files) -> None:
        self.folder: Final = openspec / FOLDER
        self._files = files

    def bases_of(self, change: str) -> Path:
        """The folder of what is kept about a change."""
        return self.folder / "bases" / change

    def base(self, change: str, capability: str, requirement: str) -> BaseRecord | None:
        """What a change's author saw of a requirement, if it is known."""
        return self._read(self.base_path(change, capability, requirement), _base)

    def base_path(self, change: str, capability: str, requirement: str) -> Path:
        """Where it is kept what a change's author saw of a requirement."""
        name = hashlib.sha256(f"{capability}\0{requirement}".encode("utf-8", "surrogatepass"))
        return self.bases_of(change) / f"{name.hexdigest()[:16]}.json"

    def begun(self, change: str) -> Mapping[str, str]:
        """What git calls each spec as it was when the change was begun, by capability."""
        return self._read(self.begun_path(change), _names) or {}

    def begun_path(self, change: str) -> Path:
        """Where it is kept what the specs were when a change was begun."""
        return self.bases_of(change) / _SPECS

    def files_about(self, change: str) -> dict[Path, bytes]:
        """All that is kept about an active change."""
        try:
            paths = sorted(self.bases_of(change).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {path: self._files.read(path) for path in paths if path.suffix == ".json"}

    def archived(self, name: str) -> ArchiveRecord | None:
        """What the archive of this name did, if it is known."""
        return self._read(self.archived_path(name), _archive)

    def archived_path(self, name: str) -> Path:
        """Where it is kept what an archive did."""
        return self.folder / "archived" / f"{name}.json"

    def all_archived(self) -> Iterator[ArchiveRecord]:
        """What all archives did, in no order."""
        try:
            paths = sorted((self.folder / "archived").glob("*.json"))
        except OSError:
            return
        for path in paths:
            if (record := self._read(path, _archive)) is not None:
                yield record

    def _read(self, path: Path, parse: Callable[[bytes], T]) -> T | None:
        try:
            return self._files.document(path, parse)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadFileError(
                path,
                "the record must be readable, and must say what this tool wrote into it",
                "Restore it from git, or remove it: the change then has no recorded base.",
            ) from error


def written(record: BaseRecord | ArchiveRecord | Mapping[str, str]) -> bytes:
    """A record as it is kept: the same for the same facts."""
    facts: dict[str, object] = dict(record) if isinstance(record, Mapping) else record._asdict()
    if isinstance(record, ArchiveRecord):
        facts["specs"] = [
            {**spec._asdict(), "edits": [edit._asdict() for edit in spec.edits]}
            for spec in record.specs
        ]
    return (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode()


def edits_between(new: bytes, old: bytes) -> tuple[Edit, ...]:
    """What makes of the lines of `new` those of `old`."""
    from difflib import SequenceMatcher  # only here, for archives

    lines, wanted = _lines(new), _lines(old)
    matcher = SequenceMatcher(None, lines, wanted, autojunk=False)
    return tuple(
        Edit(begin, end, tuple(wanted[first:last]))
        for tag, begin, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    )


def undone(new: bytes, edits: tuple[Edit, ...]) -> bytes:
    """The content from before, made from what was written and the edits that undo it."""
    lines = _lines(new)
    for edit in reversed(edits):
        lines[edit.begin : edit.end] = edit.lines
    return "".join(lines).encode("utf-8", "surrogateescape")


def _lines(data: bytes) -> list[str]:
    parts = data.decode("utf-8", "surrogateescape").split("\n")
    return [*(f"{part}\n" for part in parts[:-1]), *parts[-1:]]


def _base(data: bytes) -> BaseRecord:
    return BaseRecord(**json.loads(data))


def _names(data: bytes) -> dict[str, str]:
    return dict(json.loads(data))


def _archive(data: bytes) -> ArchiveRecord:
    raw = json.loads(data)
    specs = tuple(
        SpecRecord(
            spec["capability"],
            spec["before"],
            spec["after"],
            tuple(Edit(e["begin"], e["end"], tuple(e["lines"])) for e in spec["edits"]),
        )
        for spec in raw["specs"]
    )
    return ArchiveRecord(raw["change"], specs, dict(raw["bases"]))
