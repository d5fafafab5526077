"""The registry: a person's projects, and where each that is in a database is reached."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from ..errors import UnavailableError
from ..model.dates import micros
from .location import postgresql_url
from .replaced import write_private


@dataclass(frozen=True, slots=True)
class Registry:
    """The file `~/.tasky/registry.json`. A project's own folder names no URL: it stands here."""

    file: Path

    def projects(self) -> list[dict[str, Any]]:
        """Return the registry's entries: `name` and `path`, and what else is known of each."""
        return [entry for entry in self._read().get("projects", []) if "path" in entry]

    def register(self, folder: Path, project_id: str, name: str, url: str | None) -> None:
        """Remember a project; what other programs wrote into the registry stays as it is."""
        if url is not None:
            postgresql_url(url)
        with self._alone():
            registry = self._read()
            path = str(folder.resolve())
            entries = [one for one in registry.get("projects", []) if one.get("path") != path]
            same = (one for one in registry.get("projects", []) if one.get("path") == path)
            known: dict[str, Any] = next(same, {})
            entry = {**known, "id": project_id, "name": name, "path": path}
            entry.setdefault("created_at", micros(datetime.now(UTC)))
            entry.pop("url", None)
            if url is not None:
                entry["url"] = url
            registry["projects"] = [*entries, entry]
            write_private(self.file, json.dumps(registry, indent=2) + "\n")

    def forget(self, folder: Path) -> None:
        """Take a project out."""
        path = str(folder.resolve())
        with self._alone():
            registry = self._read()
            entries = registry.get("projects", [])
            registry["projects"] = [entry for entry in entries if entry.get("path") != path]
            write_private(self.file, json.dumps(registry, indent=2) + "\n")

    def url(self, folder: Path, project_id: str) -> str:
        """Return where this user reaches the plan of a project that is in a database."""
        path = str(folder.resolve())
        entries = [entry for entry in self.projects() if entry.get("url")]
        # A second checkout of the same project shares its id; its own entry goes first.
        entries.sort(key=lambda entry: entry["path"] != path)
        for entry in entries:
            if entry["path"] == path or (project_id and entry.get("id") == project_id):
                return str(entry["url"])
        raise UnavailableError(
            f"The plan of {folder} is in a PostgreSQL database whose URL this user has not set.",
            reason="no_url",
            suggestions=["Run: tasky project init --store postgresql://…"],
        )

    def _read(self) -> dict[str, Any]:
        path = self.file
        try:
            data = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, RecursionError) as error:
            raise UnavailableError(
                f"{path} is not valid JSON ({error}); it was left as it is.",
                reason="corrupt_registry",
            ) from error
        if not isinstance(data, dict) or not isinstance(data.get("projects", []), list):
            raise UnavailableError(f"{path} is no registry of Tasky's.", reason="corrupt_registry")
        return data

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        lock = FileLock(self.file.with_name("registry.json.lock"), timeout=25)
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock.acquire()
        except OSError as error:
            raise UnavailableError(
                f"{error.filename or self.file.parent} cannot be used: "
                f"{error.strerror or error}. Tasky notes there which projects you have.",
                reason="no_home",
                suggestions=["Set HOME to a folder that you may write to."],
            ) from error
        try:
            yield
        finally:
            lock.release()
