"""Where a plan is kept, and the store that opens there."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import Invalid
from .base import Store


@dataclass(frozen=True, slots=True)
class Location:
    """A file of one of the embedded stores, or a database's URL and the schema in it."""

    kind: str
    path: Path | None = None
    url: str = ""
    schema: str = ""

    @property
    def shown(self) -> str:
        """The place as people may see it: a URL shows no user name and no password."""
        if self.path:
            return str(self.path)
        return f"{self.kind}://{self.url.rpartition('@')[2].partition('://')[2] or '…'}"


def open_store(location: Location) -> Store:
    """Open the store, making it where there is none and upgrading an older one after a copy."""
    # Each kind is imported when it is used: a plan needs one of them, and start-up pays for it.
    if location.kind == "json" and location.path:
        from .json_file import JsonFile

        return JsonFile(location.path)
    if location.kind == "sqlite" and location.path:
        from .sqlite import SqliteFile

        return SqliteFile(location.path)
    if location.kind == "postgresql" and location.url:
        from .postgres import Postgres

        return Postgres(location.url, location.schema)
    raise Invalid(
        f"There is no store of the kind {location.kind!r}.",
        reason="unknown_store",
        suggestions=["Use sqlite, json, or a URL that begins with postgresql://."],
    )
