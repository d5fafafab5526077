"""A pack that searches files and serves them as resources, with proposals while a person types.

What to look at: only files below the folder are ever read, whatever a caller asks for; the search
ends when nobody waits for it; what is too much for one answer comes in pages.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from mcp_host import (
    Complete,
    Context,
    Needs,
    PackHandle,
    Page,
    Resource,
    Text,
    Tool,
    hookimpl,
    resource,
    tool,
)
from pydantic import BaseModel, ConfigDict, Field

SUFFIXES = (".md", ".txt")
LARGEST = 1_000_000
"""Bytes of a file that is looked at."""
EXCERPT = 120


class NoSuchNote(Exception):
    """A name that no note has; the message names it."""


class NotesSettings(BaseModel):
    """[packs.notes.settings]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path | None = Field(None, description="The folder of the notes; the project unless set")


class Hit(BaseModel):
    """A note that has all words that were looked for."""

    name: str
    uri: str
    line: int
    excerpt: str


class Notes:
    """The text files below a folder; their names are paths in it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def names(self) -> Iterator[str]:
        """The name of every note, in order."""
        for path in sorted(self._root.rglob("*")):
            parts = path.relative_to(self._root).parts
            is_hidden = any(part.startswith(".") for part in parts)
            if path.suffix in SUFFIXES and not is_hidden and self._is_inside(path):
                yield "/".join(parts)

    def read(self, name: str) -> str:
        """The text of a note; `NoSuchNote` where there is none."""
        if name not in set(self.names()):  # so no path can lead out of the folder
            raise NoSuchNote(f"There is no note {name}")
        return self._root.joinpath(name).read_text("utf-8", "replace")

    def find(self, words: Sequence[str], context: Context) -> list[Hit]:
        """The notes that have all these words, as long as somebody waits for them."""
        names = list(self.names())
        hits = []
        for number, name in enumerate(names):
            if context.cancelled:
                break
            hit = self._hit(name, [word.casefold() for word in words])
            if hit is not None:
                hits.append(hit)
            context.progress(number + 1, len(names), name)
        return hits

    def _hit(self, name: str, words: Sequence[str]) -> Hit | None:
        lines = self.read(name).splitlines()
        whole = "\n".join(lines).casefold()
        if not all(word in whole for word in words):
            return None
        number = next((n for n, line in enumerate(lines) if words[0] in line.casefold()), 0)
        excerpt = lines[number].strip()[:EXCERPT] if lines else ""
        return Hit(name=name, uri=f"notes://{quote(name)}", line=number + 1, excerpt=excerpt)

    def _is_inside(self, path: Path) -> bool:
        real = path.resolve()
        inside = real.is_relative_to(self._root) and real.is_file()
        return inside and real.stat().st_size <= LARGEST


def proposed(notes: Notes, /, value: str) -> list[str]:
    """The names of notes that have in them what was typed so far."""
    return [name for name in notes.names() if value.casefold() in name.casefold()]


@tool(read_only=True, open_world=False)
def search(
    notes: Notes,
    /,
    words: Annotated[list[str], Field(min_length=1, description="A note must have all of them")],
    context: Context,
    limit: Annotated[int, Field(ge=1, le=100, description="Notes at most")] = 20,
    begin: Annotated[int, Field(ge=0, description="How many notes to pass over")] = 0,
) -> Page[Hit]:
    """Find notes by words in them. Read one at the uri that its row gives."""
    hits = notes.find(words, context)
    end = begin + limit
    return Page(hits[begin:end], len(hits), str(end) if end < len(hits) else None)


@resource("notes://{+name}", mime="text/markdown")
def note(notes: Notes, /, name: Annotated[str, Complete(proposed)]) -> Text:
    """The text of a note, by its path in the folder."""
    return Text(notes.read(name), mime="text/markdown" if name.endswith(".md") else "text/plain")


@hookimpl
def mcp_host_settings() -> type[NotesSettings]:
    return NotesSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: NotesSettings, pack: PackHandle) -> AsyncIterator[Notes]:
    yield Notes(settings.root or Path.cwd())


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [search]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [note]


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=())


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {NoSuchNote: "not_found"}
