"""A skill as the extension has it: its files, with digests and sizes, and its front matter."""

import hashlib
import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import yaml

SCHEME = "skill://"
FILE = "SKILL.md"
SKILL_AT = SCHEME + "{pack}/{name}/" + FILE
FOLDER = "inode/directory"
MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
"""What every client must take of one skill; more is not served."""


@dataclass(frozen=True)
class Served:
    """One skill that is served: the pack it comes with, its name, and its folder."""

    pack: str
    name: str
    folder: Path

    @property
    def root(self) -> str:
        """The URI of its folder, without a slash at the end."""
        return f"{SCHEME}{self.pack}/{self.name}"

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md, which is what it is known by."""
        return f"{self.root}/{FILE}"

    def files(self) -> list[Path]:
        """All its files, in order; hidden ones and links out of the folder are no part of it."""
        home = self.folder.resolve()
        return [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
            and path.resolve().is_relative_to(home)
            and not any(_is_hidden(part) for part in path.relative_to(self.folder).parts)
        ]

    def uri_of(self, path: Path) -> str:
        """The URI of one of its files or folders."""
        return f"{self.root}/{quote(path.relative_to(self.folder).as_posix())}"

    def entry(self) -> dict[str, Any] | None:
        """The entry of the extension; None where the skill is larger than clients must take."""
        resources, size = [], 0
        for path in self.files():
            content = path.read_bytes()
            size += len(content)
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
            resources.append({"uri": self.uri_of(path), "digest": digest, "size": len(content)})
        if len(resources) > MOST_FILES or size > MOST_BYTES:
            return None
        text = (self.folder / FILE).read_text("utf-8")
        return {"uri": self.uri, "frontmatter": front_matter(text), "resources": resources}


def front_matter(text: str) -> dict[str, Any]:
    """The keys at the beginning of a SKILL.md, as the author wrote them."""
    _, _, rest = text.partition("---")
    about, _, _ = rest.partition("\n---")
    loaded = yaml.load(about, Loader=_Plain)  # noqa: S506  # a safe loader, without dates
    return dict(loaded) if isinstance(loaded, Mapping) else {}


class _Plain(yaml.SafeLoader):
    """Reads YAML as JSON has it: a date stays the text that it is."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # as the library declares it
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class Skills:
    """The skills that are served, as they are at each question."""

    def __init__(self, served: Callable[[], Sequence[Served]]) -> None:
        self._served = served

    def entries(self, may_read: Callable[[str], bool]) -> list[dict[str, Any]]:
        """The entries of all skills of packs that a caller may read."""
        found = (one.entry() for one in self._served() if may_read(one.pack))
        return [entry for entry in found if entry is not None]

    def at(self, uri: str, may_read: Callable[[str], bool]) -> Served | None:
        """The skill that a URI is in or names; None where there is none."""
        for one in self._served():
            if may_read(one.pack) and (uri == one.root or uri.startswith(one.root + "/")):
                return one
        return None

    def file(self, uri: str, may_read: Callable[[str], bool]) -> tuple[bytes, str] | None:
        """The content and MIME type of a file; None where it is not served."""
        one = self.at(uri, may_read)
        for path in one.files() if one is not None else ():
            if one is not None and unquote(one.uri_of(path)) == unquote(uri):
                return path.read_bytes(), mime(path)
        return None

    def children(self, uri: str, may_read: Callable[[str], bool]) -> list[dict[str, Any]] | None:
        """What lies directly in a folder; None where the URI is of none."""
        one = self.at(uri, may_read)
        if one is None:
            return None
        inside = unquote(uri.removeprefix(one.root)).strip("/")
        folder = one.folder / inside if inside else one.folder
        files = one.files()
        folders = {parent for path in files for parent in path.relative_to(one.folder).parents}
        if folder.relative_to(one.folder) not in folders or ".." in Path(inside).parts:
            return None
        return list(_children(one, folder, files))


def _children(one: Served, folder: Path, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    seen = set()
    for path in files:
        if not path.is_relative_to(folder):
            continue
        child = folder / path.relative_to(folder).parts[0]
        if child not in seen:
            seen.add(child)
            kind = mime(child) if child == path else FOLDER
            yield {"uri": one.uri_of(child), "name": child.name, "mimeType": kind}


def mime(path: Path) -> str:
    """The MIME type of a file, by its name."""
    if path.suffix == ".md":
        return "text/markdown"
    return mimetypes.guess_type(path.name)[0] or "text/plain"


def _is_hidden(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"
