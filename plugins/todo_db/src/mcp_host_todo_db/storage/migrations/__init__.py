"""Alembic's scripts: how each version of the pack's own tables is made from the one before."""
