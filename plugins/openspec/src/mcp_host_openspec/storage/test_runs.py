"""The tests of a project and the reports of their runs."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from ..errors import BadFileError, NotFoundError

_FOLDERS: Final = frozenset({"test", "tests", "spec", "specs", "__tests__", "e2e", "features"})
_FILE: Final = re.compile(
    r"(?:test[_-].*|.*[_.-](?:test|tests|spec|specs|e2e)|.*Tests?|.*Specs?)\.\w+|.*\.feature"
)
_LEFT_OUT: Final = frozenset(
    {"node_modules", "vendor", "target", "build", "dist", "out", "venv", "env", "site-packages"}
)
_LARGEST: Final = 2 * 1024 * 1024
_LARGEST_REPORT: Final = 64 * 1024 * 1024
_TEXT_END: Final = b"\0"


class Case(NamedTuple):
    """One test in a report."""

    name: str
    where: str
    """Its class and file, as the report says them."""
    outcome: str
    """passed, failed or skipped."""
    markers: tuple[str, ...]
    """What its properties named `spec` say."""


def test_files(root: Path, tree: Path, named: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The test files of a project with their texts, each by its path below the project.

    `named` are files or folders to look into; none: everything that looks like a test. Hidden
    folders, links, what is built or installed, and the OpenSpec tree are left out.
    """
    for start in named or (".",):
        top = root / start
        if not top.exists():
            raise NotFoundError("Folder of tests", start, [])
        paths = [top] if top.is_file() else _walk(top, tree)
        for path in paths:
            if named or _looks_like_test(path.relative_to(root)):
                text = _text(path)
                if text is not None:
                    yield Path(os.path.relpath(path, root)).as_posix(), text


def _walk(top: Path, tree: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _LEFT_OUT and here / name != tree
        )
        yield from (here / name for name in sorted(files))


def _looks_like_test(path: Path) -> bool:
    return bool(_FILE.fullmatch(path.name)) or not _FOLDERS.isdisjoint(path.parts[:-1])


def _text(path: Path) -> str | None:
    """The text of a file; None for one that is large, no text, or may not be read."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return None if _TEXT_END in data[:1024] else data.decode("utf-8", "replace")


def report_files(root: Path, patterns: Sequence[str]) -> list[Path]:
    """The reports that paths and patterns name; NotFoundError for one that names none."""
    found: list[Path] = []
    for pattern in patterns:
        path = root / pattern
        matches = [path] if path.is_file() else sorted(_matches(root, pattern))
        if not matches:
            raise NotFoundError("Report", pattern, [])
        found += matches
    return list(dict.fromkeys(found))


def _matches(root: Path, pattern: str) -> Iterator[Path]:
    if Path(pattern).is_absolute():
        anchor = Path(pattern).anchor
        return Path(anchor).glob(str(Path(pattern).relative_to(anchor)))
    return root.glob(pattern)


def cases_in(path: Path) -> Iterator[Case]:
    """The tests of one report in the JUnit XML format; BadFileError where it is none."""
    try:
        if path.stat().st_size > _LARGEST_REPORT:
            raise BadFileError(path, "the report is larger than 64 MiB")
        data = path.read_bytes()
    except OSError as error:
        raise BadFileError(path, f"the report cannot be read: {error.strerror}") from error
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise BadFileError(path, "a report must not declare entities")
    try:
        top = ElementTree.fromstring(data)  # noqa: S314 (no entities: see above)
    except ElementTree.ParseError as error:
        raise BadFileError(path, f"the report must be JUnit XML: {error}") from error
    for case in top.iter("testcase"):
        where = " ".join(filter(None, (case.get("classname"), case.get("file"))))
        properties = [one for one in case.iter("property") if one.get("name") == "spec"]
        told = tuple(one.get("value") or one.text or "" for one in properties)
        yield Case(case.get("name", ""), where, _outcome(case), told)


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"
