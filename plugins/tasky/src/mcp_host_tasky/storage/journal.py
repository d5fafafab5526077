"""Several files that change together: all of them, or none, also when the process is killed.

What is to be written stands whole in a journal before the first file changes. From that moment it
counts: whoever reads takes the journal's texts for the files', and whoever writes next finishes it.
"""

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnavailableError
from .json_task import corrupt, digest


@dataclass(frozen=True, slots=True)
class Pending:
    """Texts that count already, by file name; None is a file that goes away. `before` has digests
    of what each file held: one that somebody else changed since is left alone. `moved` names files
    that stand ready to be put in the place of others."""

    texts: Mapping[str, str | None]
    before: Mapping[str, str | None]
    moved: Mapping[str, str]


class Journal:
    """The journal of a folder's files; only who holds the plan's lock writes or finishes it."""

    def __init__(self, folder: Path, path: Path, like: Path) -> None:
        self._folder = folder
        self.path = path
        self._like = like

    def read(self) -> Pending | None:
        """Return what counts already and may not stand in the files yet."""
        try:
            data = json.loads(self.path.read_bytes())
            return Pending(data["texts"], data["before"], data["moved"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise corrupt(self.path, str(error)) from error

    def write(
        self,
        texts: Mapping[str, str | None],
        before: Mapping[str, str | None],
        moved: Mapping[str, str],
    ) -> None:
        """Change the files. When this returns the change is durable."""
        data = {"texts": dict(texts), "before": dict(before), "moved": dict(moved)}
        put(self.path, json.dumps(data), self._like)
        sync_folder(self.path.parent)
        self.finish()

    def finish(self) -> None:
        """Bring the files to what the journal says, and forget it."""
        pending = self.read()
        if pending is None:
            return
        folders = {self.path.parent}
        for name, text in pending.texts.items():
            path = self._folder / name
            current = _digest_of(path)
            after = digest(text) if text is not None else None
            if current == after or current != pending.before.get(name):
                continue
            if text is None:
                path.unlink(missing_ok=True)
            else:
                put(path, text, self._like)
            folders.add(path.parent)
        for name, ready in pending.moved.items():
            if (self._folder / ready).exists():
                (self._folder / ready).replace(self._folder / name)
        for folder in folders:
            sync_folder(folder)
        self.path.unlink()


def put(path: Path, text: str, like: Path) -> None:
    """Write a file whole, with the mode of another, and durable but for its folder's entry."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if like.exists():
            shutil.copymode(like, temporary)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)  # on a full disk it would take the room of others
        raise unusable(path, error) from error


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable."""
    if os.name == "nt":
        return  # Windows has no handle of a folder to make durable
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unusable(path: Path, error: OSError) -> UnavailableError:
    named = error.filename.removesuffix(".tmp") if isinstance(error.filename, str) else path
    return UnavailableError(f"{named} cannot be used: {error.strerror}.", reason="store_unusable")


def _digest_of(path: Path) -> str | None:
    try:
        return digest(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""
