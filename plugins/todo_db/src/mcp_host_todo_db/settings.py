"""What a user can set, in `[packs.todo_db.settings]`."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class TodoDbSettings(BaseModel):
    """The database, and whose tasks it is about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[
        SecretStr | None,
        Field(
            description="postgresql://USER:PASSWORD@HOST/DATABASE as a hosting provider writes it,"
            " or sqlite:///FILE; without one, an SQLite file in the pack's data folder"
        ),
    ] = None
    user_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=255,
            description="The one user whose tasks may be used; without it, the caller's user_id"
            " is trusted unless a token says who is calling",
        ),
    ] = None
    user_id_required: Annotated[
        bool,
        Field(
            description="Whether every call must name its user; without it, a call that names"
            " nobody means the known caller. The server of its own always requires it"
        ),
    ] = False
    connect_timeout: Annotated[
        # The host gives a pack ten seconds to open: this must end before, to say who is silent.
        float,
        Field(gt=0, le=9, description="Seconds to wait for the database to answer"),
    ] = 5.0
    statement_timeout: Annotated[
        # Below the 30 seconds of a tool: the database ends a statement before the call is given up.
        float,
        Field(
            gt=0,
            le=86400,
            description="Seconds that a statement may take on PostgreSQL, or wait on SQLite for"
            " other programs that write",
        ),
    ] = 25.0
    pool_size: Annotated[
        int, Field(ge=1, le=100, description="Connections to PostgreSQL at most")
    ] = 10
    row_security: Annotated[
        bool,
        Field(
            description="Whether PostgreSQL itself must keep each user to their own rows"
            " (row-level security); the pack does not start where that does not hold"
        ),
    ] = False
    bus_url: Annotated[
        SecretStr | None,
        Field(
            description="A PostgreSQL URL by which the processes of a host tell each other what"
            " changed, in every pack; a direct one, not of a transaction pooler"
        ),
    ] = None
    history_days: Annotated[
        float,
        Field(
            ge=0,
            le=36500,
            description="Days for which it is kept who changed what; 0 for not at all",
        ),
    ] = 30.0
    undo_days: Annotated[
        float,
        Field(
            ge=0,
            le=36500,
            description="Days in which the operator can bring a deleted task back;"
            " 0 forgets it at once",
        ),
    ] = 7.0
