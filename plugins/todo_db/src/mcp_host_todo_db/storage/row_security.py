"""Row-level security: PostgreSQL itself shows nobody a row that is another user's.

The user stands in a setting of the transaction. Whoever removes old records sees those of all
users in the pack's own tables, and none in `tasks`.
"""

from sqlalchemy import Connection, text

from ..errors import RowSecurityMissingError
from .records import KEYS

TABLES = ("tasks", "todo_history", "todo_deleted", KEYS)
POLICY = "todo_db_own_rows"
FORGETTING = "current_setting('todo_db.forgetting', true) = 'on'"


def seen_by(user_id: str | None) -> str:
    """The statement that makes a transaction a user's; None makes it one that removes old records.

    The text travels as hexadecimal digits: it cannot end the literal that it stands in.
    """
    setting, value = ("user_id", user_id) if user_id is not None else ("forgetting", "on")
    decoded = f"convert_from(decode('{value.encode().hex()}', 'hex'), 'UTF8')"
    return f"SELECT set_config('todo_db.{setting}', {decoded}, true)"


def raise_wall(connection: Connection, place: str) -> None:
    """Force row-level security on `tasks` and the pack's own tables, also for their owner.

    Raises `RowSecurityMissingError` for a database that has none.
    """
    if connection.dialect.name != "postgresql":
        raise RowSecurityMissingError(place, "SQLite has none")
    for table in _found(connection):
        kind = connection.execute(
            text(
                "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
                " WHERE attrelid = to_regclass(:name) AND attname = 'user_id'"
            ),
            {"name": table},
        ).scalar_one()
        mine = f"user_id = nullif(current_setting('todo_db.user_id', true), '')::{kind}"
        policies = {POLICY: f"USING ({mine})"}
        if table != "tasks":
            policies["todo_db_old_rows_seen"] = f"FOR SELECT USING ({FORGETTING})"
            policies["todo_db_old_rows_removed"] = f"FOR DELETE USING ({FORGETTING})"
        for change in ("ENABLE", "FORCE"):
            connection.execute(text(f"ALTER TABLE {table} {change} ROW LEVEL SECURITY"))
        for name, rule in policies.items():
            connection.execute(text(f"DROP POLICY IF EXISTS {name} ON {table}"))
            connection.exec_driver_sql(f"CREATE POLICY {name} ON {table} {rule}")


def is_raised(connection: Connection) -> bool:
    """Tell whether `tasks` has the policy."""
    return _tables_without(connection, ["tasks"]) == []


def must_be_raised(connection: Connection, place: str) -> None:
    """Raise `RowSecurityMissingError` unless it holds for the role that is connected."""
    if connection.dialect.name != "postgresql":
        raise RowSecurityMissingError(place, "SQLite has none")
    found = _found(connection)
    bare = _tables_without(connection, found)
    if bare:
        raise RowSecurityMissingError(place, f"it is not forced on {', '.join(bare)}")
    if connection.execute(
        text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    ).scalar():
        raise RowSecurityMissingError(place, "the role that connects may bypass it")
    owned = connection.execute(
        text(
            "SELECT relname FROM pg_class WHERE oid = ANY(CAST(:names AS regclass[]))"
            " AND pg_has_role(current_user, relowner, 'MEMBER')"
        ),
        {"names": found},
    ).scalars()
    if names := sorted(owned):
        raise RowSecurityMissingError(place, f"the role that connects owns {', '.join(names)}")


def _found(connection: Connection) -> list[str]:
    there = text("SELECT to_regclass(:name) IS NOT NULL")
    return [name for name in TABLES if connection.execute(there, {"name": name}).scalar()]


def _tables_without(connection: Connection, names: list[str]) -> list[str]:
    forced = text(
        "SELECT count(*) FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid"
        " WHERE pg_class.oid = to_regclass(:name) AND polname = :policy"
        " AND relrowsecurity AND relforcerowsecurity"
    )
    return [
        name
        for name in names
        if not connection.execute(forced, {"name": name, "policy": POLICY}).scalar()
    ]
