"""The pack's settings."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class OpenSpecSettings(BaseModel):
    """Which project, and how much is read and watched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path | None = Field(
        None, description="The project's folder; its tree is the openspec/ in it."
    )
    folder: str = Field(
        "openspec", pattern=r"^\.?[^./\\][^/\\]*$", description="What the tree's folder is called."
    )
    specs_root: Path | None = Field(
        None,
        description="One folder for the trees of all projects, each at the project's place below "
        "the home folder. Without it a tree lies in its project.",
    )
    max_file_bytes: int = Field(
        16 * 1024 * 1024, gt=0, description="The largest file that is read, in bytes."
    )
    tests: tuple[str, ...] = Field(
        (), description="Where tests are, below the project; none: whatever looks like a test."
    )
    reports: tuple[str, ...] = Field(
        (), description="Reports of test runs (JUnit XML) below the project, as paths or patterns."
    )
    cache: bool = Field(
        True,
        description="Keep what validation found in the whole tree in the cache folder, for the "
        "next session.",
    )
    watch: bool = Field(True, description="Tell clients when files of the tree change.")
    debounce: float = Field(
        0.3, ge=0, description="How long changes are gathered before they are told, in seconds."
    )
