"""Where a plan is kept, and the store that opens there."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import InvalidError
from .json_file import JsonFile
from .sqlite import SqliteFile
from .store import Store


@dataclass(frozen=True, slots=True)
class Location:
    """A file of one of the embedded stores, or a database's URL and the schema in it. `shared` is
    where the worktrees of a repository share the claims of a JSON plan."""

    kind: str
    path: Path | None = None
    url: str = ""
    schema: str = ""
    shared: Path | None = None

    @property
    def shown(self) -> str:
        """The place as people may see it: a URL shows no user name and no password."""
        if self.path:
            return str(self.path)
        return f"{self.kind}://{self.url.rpartition('@')[2].partition('://')[2] or '…'}"


def open_store(location: Location, *, is_cut_too: bool = False) -> Store:
    """Open the store, making it where there is none and upgrading an older one after a copy; if
    told so, also an SQLite file that was cut short, to read what is left."""
    if location.kind == "json" and location.path:
        return JsonFile(location.path, location.shared).open()
    if location.kind == "sqlite" and location.path:
        return SqliteFile(location.path, is_cut_too=is_cut_too).open()
    if location.kind == "postgresql" and location.url:
        # Imported here: its driver comes with the extra `postgresql`, and may not be installed.
        from .postgres import Postgres

        return Postgres(location.url, location.schema).open()
    raise _unknown(f"There is no store of the kind {location.kind!r}.")


def postgresql_url(url: str) -> str:
    """Return the URL where it is one of PostgreSQL's; else `InvalidError`."""
    if not url.startswith(("postgres://", "postgresql://")):
        raise _unknown(f"{url.partition('://')[0]}:// is no store that Tasky can use.")
    return url


def unknown_store(said: str) -> InvalidError:
    """Say that no store has this name."""
    return _unknown(f"{said!r} is not a store.")


def _unknown(message: str) -> InvalidError:
    return InvalidError(
        message,
        reason="unknown_store",
        suggestions=["Use sqlite, json, or a URL that begins with postgresql://."],
    )
