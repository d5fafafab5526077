"""Where Alembic begins: it migrates the connection that it is given."""

from alembic import context

from mcp_host_todo_db.storage.records import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
