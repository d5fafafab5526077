"""What `mcp-host doctor` looks at beyond opening the pack."""

from mcp_host import Finding

from .errors import TodoError
from .settings import TodoDbSettings


async def migration_is_done(settings: TodoDbSettings) -> Finding | None:
    """Say when a migration is due, and which indexes are missing."""
    # Alembic takes longer to load than the pack, and the lists do without either.
    from .storage import read_url
    from .storage.migrating import standing

    if settings.url is None:
        return None  # the pack's own SQLite file, which opening makes and migrates
    try:
        found = await standing(
            read_url(settings.url.get_secret_value()), connect_timeout=settings.connect_timeout
        )
    except TodoError:
        return None  # opening tells of it
    if found.has_table and found.is_due:
        return Finding(
            "the database has no history and no undo yet", "Run `todo-db-mcp migrate` once"
        )
    if found.missing_indexes:
        return Finding("lists are slow without an index", "; ".join(found.missing_indexes))
    return None
