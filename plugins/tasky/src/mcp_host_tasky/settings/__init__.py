"""What a user can set, in `[packs.tasky.settings]`."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class TaskySettings(BaseModel):
    """Which plan the server works on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Annotated[
        Path | None,
        Field(description="The project's folder, or one inside it; its `.tasky` names the store."),
    ] = None
    url: Annotated[
        SecretStr | None,
        Field(
            description="A PostgreSQL URL to keep the plan in, for servers on several machines; "
            "it goes before the project's own store."
        ),
    ] = None
    db_schema: Annotated[
        str | None,
        Field(
            alias="schema",
            pattern=r"^[a-z_][a-z0-9_]{0,62}$",
            description="The plan's schema in that database; by default the project's own.",
        ),
    ] = None
    lease_seconds: Annotated[
        int,
        Field(
            ge=1, le=604_800, description="How long a claim lasts unless it says so, in seconds."
        ),
    ] = 900
    watch_seconds: Annotated[
        float,
        Field(ge=0.05, le=3600, description="How often other processes' changes are looked for."),
    ] = 1.0
