"""The pack's settings."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class CortexSettings(BaseModel):
    """`[packs.cortex.settings]`"""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path | None = Field(default=None, description="The repository the tasks are worked in.")
    command: str | tuple[str, ...] = Field(
        default="ctx",
        description="The ctx to run: a name or a path, or a list of program and arguments.",
    )
    home: Path | None = Field(
        default=None, description="The folder of ctx's config.json, instead of ~/.cortex."
    )
    worktree: Literal["auto", "always", "never"] = Field(
        default="auto",
        description="'auto': start_task gives a task a worktree where the folder holds another's.",
    )
    default_message: Literal["title"] | None = Field(
        default=None, description="'title': submit_pr without a message commits with the task's."
    )
    list_timeout: float = Field(
        default=30, gt=0, le=3600, description="Seconds a ctx that only reads tasks may take."
    )
    git_timeout: float = Field(
        default=60, gt=0, le=3600, description="Seconds a ctx that works with git may take."
    )
    poll: float = Field(
        default=30,
        ge=0,
        le=86400,
        description="Seconds between looks for tasks changed by others; 0 never looks.",
    )
