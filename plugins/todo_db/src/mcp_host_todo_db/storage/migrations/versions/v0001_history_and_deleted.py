"""The table `tasks` where there is none, and beside it the history and the deleted rows."""

import sqlalchemy as sa
from alembic import op

from mcp_host_todo_db.storage.table import make_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make what is missing; what an interrupted migration has made stays."""
    connection = op.get_bind()
    make_table(connection)
    native = connection.dialect.name == "postgresql"
    number = sa.BigInteger() if native else sa.Integer()
    moment = sa.DateTime(timezone=native)
    op.create_table(
        "todo_history",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("task_id", sa.String(36), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("fields", sa.String(32)),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("actor", sa.String(255)),
        if_not_exists=True,
    )
    op.create_table(
        "todo_deleted",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("at", moment, nullable=False),
        sa.Column("task_id", sa.String(36), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("is_completed", sa.Boolean, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        if_not_exists=True,
    )
    for name, table, columns in (
        ("todo_history_of_user", "todo_history", ["user_id", "number"]),
        ("todo_history_by_age", "todo_history", ["at"]),
        ("todo_deleted_of_user", "todo_deleted", ["user_id", "task_id"]),
        ("todo_deleted_by_age", "todo_deleted", ["at"]),
    ):
        op.create_index(name, table, columns, if_not_exists=True)
