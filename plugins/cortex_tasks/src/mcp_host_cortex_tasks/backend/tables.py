"""The tables, and how a database is opened: SQLite by default, PostgreSQL by its URL."""

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Dialect,
    Engine,
    ForeignKey,
    String,
    Table,
    Text,
    TypeDecorator,
    create_engine,
    event,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from ..model.rules import MAX_TITLE
from ..storage.local import write_ahead


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, aware in Python whatever the database keeps."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into the database: UTC without a zone."""
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Out of the database: UTC."""
        return value.replace(tzinfo=UTC) if value else None


class Base(DeclarativeBase):
    """All tables of the backend."""

    type_annotation_map = {datetime: UtcTime}  # noqa: RUF012  SQLAlchemy's own declaration


class Organization(Base):
    """Whose members share projects."""

    __tablename__ = "organizations"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(255))


class UserRow(Base):
    """Somebody who can log in."""

    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(String(255))
    email: Mapped[str] = mapped_column(String(320), unique=True)
    password_hash: Mapped[str] = mapped_column(String(255))
    organization_id: Mapped[int | None] = mapped_column(ForeignKey("organizations.id"))
    created_at: Mapped[datetime]


class Project(Base):
    """What tasks belong to."""

    __tablename__ = "projects"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(255))
    description: Mapped[str | None] = mapped_column(Text)
    organization_id: Mapped[int] = mapped_column(ForeignKey("organizations.id"), index=True)
    created_at: Mapped[datetime]


class ProjectMember(Base):
    """Somebody in a project; one of them owns it."""

    __tablename__ = "project_members"
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True, index=True)
    owner: Mapped[bool]


collaborators = Table(
    "task_collaborators",
    Base.metadata,
    Column("task_id", ForeignKey("tasks.id"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True, index=True),
)


class TaskRow(Base):
    """A task. `creator_id` is not shown: who made a task may see it."""

    __tablename__ = "tasks"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(MAX_TITLE))
    description: Mapped[str | None] = mapped_column(Text)
    type: Mapped[str] = mapped_column(String(20))
    priority: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20))
    branch_name: Mapped[str | None] = mapped_column(String(255))
    deadline: Mapped[date | None]
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"), index=True)
    assignee_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"), index=True)
    creator_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
    shared_with: Mapped[list[UserRow]] = relationship(secondary=collaborators, lazy="selectin")

    @property
    def collaborator_ids(self) -> list[int]:
        """The users it is shared with."""
        return sorted(user.id for user in self.shared_with)


class CommentRow(Base):
    """What somebody said about a task."""

    __tablename__ = "comments"
    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    content: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]


def open_database(url: str) -> Engine:
    """Return an engine with every table made; `postgres://…` as providers write it works."""
    for short in ("postgres://", "postgresql://"):
        if url.startswith(short):
            url = "postgresql+psycopg://" + url.removeprefix(short)
    engine = create_engine(url, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    Base.metadata.create_all(engine)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, below
    for pragma in ("busy_timeout = 10000", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
    write_ahead(connection)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads, then writes, must own the write lock from the start.
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
