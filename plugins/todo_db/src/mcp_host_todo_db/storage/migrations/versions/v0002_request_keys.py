"""The keys of requests, each with the answer that it had."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make what is missing; what an interrupted migration has made stays."""
    native = op.get_bind().dialect.name == "postgresql"
    moment = sa.DateTime(timezone=native)
    op.create_table(
        "todo_keys",
        sa.Column("user_id", sa.String(255), primary_key=True),
        sa.Column("request_key", sa.String(255), primary_key=True),
        sa.Column("body", sa.String(64), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("task_id", sa.String(36), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("is_completed", sa.Boolean, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        if_not_exists=True,
    )
    op.create_index("todo_keys_by_age", "todo_keys", ["at"], if_not_exists=True)
