"""The PostgreSQL store."""

from .database import Postgres

__all__ = ["Postgres"]
