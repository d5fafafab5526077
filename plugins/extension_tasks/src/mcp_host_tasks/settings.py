"""What can be set in `[packs.tasks.settings]`."""

from pydantic import BaseModel, ConfigDict, Field


class TasksSettings(BaseModel):
    """When calls become tasks, how long they may run, and how long they are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    after: float = Field(
        5.0, gt=0, description="Seconds until a call of a client with the extension is a task."
    )
    without_extension: bool = Field(
        True,
        description="Whether calls of other clients go on as tasks when their deadline comes.",
    )
    required: tuple[str, ...] = Field(
        (), description="Globs of tools that only clients with the extension may call."
    )
    asked_in_task: tuple[str, ...] = Field(
        (), description="Globs of tools that are tasks from the beginning, and ask as such."
    )
    never: tuple[str, ...] = Field((), description="Globs of tools that are never tasks.")
    limit: float = Field(3600.0, gt=0, description="Seconds that a task may run.")
    keep: float = Field(
        3600.0, gt=0, description="Seconds that a task is kept after it must have ended."
    )
    poll: float = Field(1.0, gt=0, description="Seconds that clients wait between two looks.")
    running: int = Field(16, ge=1, description="Tasks of one caller that run at once.")
    kept: int = Field(256, ge=1, description="Tasks of one caller that are kept.")
    engine: str = Field("sqlite", description="What keeps the tasks.")
