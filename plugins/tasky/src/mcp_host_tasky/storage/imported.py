"""Reading the files of other tools, and writing them."""

import codecs
import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import InvalidError, UnavailableError

# Where tools keep their tasks below the folder that is named.
_KNOWN = (
    (".beads/issues.jsonl", "beads"),
    ("issues.jsonl", "beads"),
    (".taskmaster/tasks/tasks.json", "task-master"),
    ("tasks/tasks.json", "task-master"),
)
_BACKLOG = ("tasks", "completed", "drafts", "archive/tasks")
_BACKLOG_NAME = re.compile(r"[A-Za-z]+-\d")


def files_of(path: Path, form: str | None) -> tuple[dict[str, str], str | None]:
    """Return the files of a tool, by their paths, and the format that a folder's layout says."""
    if str(path) == "-":
        return {"-": _decoded(sys.stdin.buffer.read(), "stdin")}, form
    if not path.is_dir():
        # The folders above say whose task a file is: a change's, or an archived one's.
        return {"/".join(path.absolute().as_posix().split("/")[-3:]): _text(path)}, form
    for known, name in _KNOWN:
        if (path / known).is_file() and form in (None, name):
            return {known: _text(path / known)}, name
    backlog = path / "backlog" if (path / "backlog").is_dir() else path
    if (backlog / "tasks").is_dir() and form in (None, "backlog"):
        found = _markdown(backlog, [f"{one}/*.md" for one in _BACKLOG])
        return {name: text for name, text in found.items() if _is_of_backlog(name, text)}, "backlog"
    root = path / "openspec" if (path / "openspec").is_dir() else path
    changes = root / "changes" if (root / "changes").is_dir() else root
    found = _markdown(changes, ["tasks.md", "*/tasks.md"])
    if found and form in (None, "openspec"):
        found = {("/".join([changes.name, name]) if name == "tasks.md" else name): text
                 for name, text in found.items()}  # fmt: skip
        return found, "openspec"
    raise InvalidError(
        f"{path} holds no plan that is known.",
        reason="unknown_format",
        suggestions=["Name a file, or a folder of beads, task-master, Backlog.md or OpenSpec."],
    )


def write_files(target: Path, files: Mapping[str, str]) -> None:
    """Write one file, or several below a folder."""
    ready: dict[Path, Path] = {}
    try:
        for name, text in files.items():
            path = target / name if name else target
            if name and not path.resolve().is_relative_to(target.resolve()):
                raise InvalidError(f"{name} leaves {target}.", reason="bad_file")
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                path.write_text(text, "utf-8", newline="")  # a pipe or a terminal, as /dev/stdout
                continue
            # Beside it first: what was there before is not lost to a full disk.
            path = path.resolve()
            ready[path] = path.with_name(f".{path.name[:200]}.tmp")
            ready[path].write_text(text, "utf-8", newline="")
            if path.exists():
                shutil.copymode(path, ready[path])
        for path, temporary in ready.items():
            temporary.replace(path)
    except OSError as error:
        raise UnavailableError(
            f"{target} cannot be written: {error.strerror}.", reason="bad_file"
        ) from error
    finally:
        for temporary in ready.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _markdown(folder: Path, patterns: list[str]) -> dict[str, str]:
    found = {
        file.relative_to(folder).as_posix(): file
        for pattern in patterns
        for file in sorted(folder.glob(pattern))
        if file.is_file() and file.name.lower() != "readme.md"
    }
    return {name: _text(file) for name, file in found.items()}


def _is_of_backlog(name: str, text: str) -> bool:
    """Whether Backlog.md takes a file for a task: a page that somebody put beside them is none."""
    return text.startswith("---") or _BACKLOG_NAME.match(name.rpartition("/")[2]) is not None


def _text(file: Path) -> str:
    try:
        return _decoded(file.read_bytes(), str(file))
    except OSError as error:
        raise UnavailableError(
            f"{file} cannot be read: {error.strerror}.", reason="bad_file"
        ) from error


def _decoded(content: bytes, name: str) -> str:
    """Return a text of UTF-8, or of UTF-16 where it begins with that mark, as Windows writes it."""
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        said = content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidError(
            f"{name} is not UTF-8.",
            reason="bad_file",
            suggestions=[
                "Save it as UTF-8 (in Excel: CSV UTF-8), or convert it: iconv -f WINDOWS-1252 "
                "-t UTF-8 FILE"
            ],
        ) from error
    # Formats know what ends a line, and write it again; a lone CR did so on old Macs.
    return said if "\n" in said else said.replace("\r", "\n")
