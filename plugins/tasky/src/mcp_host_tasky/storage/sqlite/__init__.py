"""The SQLite store."""

from .file import SqliteFile

__all__ = ["SqliteFile"]
