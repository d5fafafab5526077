"""The table [host]: the host itself, and what holds for every pack."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .table import Count, Seconds, Table


class HostTable(Table):
    """The table [host]."""

    root: Path | None = Field(
        None, strict=False, description="The project's folder, for packs about a project."
    )
    timeout: Seconds = Field(30, description="Seconds a call may take, where nothing else says so.")
    max_concurrency: Count = Field(
        64, description="Calls that run at once; 256 of each caller wait, more hear `busy`."
    )
    page_size: Count = Field(1000, description="Entries on one page of a list.")
    asking_timeout: Seconds = Field(300, description="Seconds a call waits for a person's answer.")
    grace: Seconds = Field(
        5, description="Seconds that running calls get when the host stops, and then its packs."
    )
    start_timeout: Seconds = Field(
        10, description="Seconds a pack may take for each step: import, each answer, opening."
    )
    retry_after: Seconds = Field(
        5,
        description="Seconds until a pack that could not be opened is tried again; doubled each "
        "time, up to 5 minutes.",
    )
    max_message_bytes: Annotated[int, Field(ge=1024)] = Field(
        4 * 1024 * 1024, description="The longest message that is read, in bytes."
    )
    max_answer_bytes: Annotated[int, Field(ge=1024)] = Field(
        4 * 1024 * 1024, description="The longest answer of a call that is sent, in bytes."
    )
    state_key: str | None = Field(
        None,
        min_length=32,
        description="Seals questions carried by the client, so that another process can take the "
        "answer; at least 32 characters, from a secret. Without it, each start makes its own.",
    )
    token_budget: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens that all lists may cost a model; `doctor` warns of more."
    )
    expose: Literal["all", "search", "auto"] = Field(
        "all",
        description="What the list of tools shows: all, or four tools that find and call the "
        'others; "auto" shows all as long as they cost no more than `token_budget`.',
    )
    always: list[str] = Field(
        [], description="Tools that are listed whatever `expose` says, as globs of public names."
    )
    confirm: list[str] = Field(
        [],
        description="Tools and prompts that run only once a person has agreed, as globs of "
        "public names.",
    )
    catalogue: bool = Field(
        True, description="Save what clients see first, to show it at once at the next start."
    )
    lane: bool = Field(
        True,
        description="Answer usual requests without the SDK; off, all go through it, with the same "
        "answers. `MCP_HOST_LANE=0` switches it off as well.",
    )
    warm: bool = Field(
        True,
        description="Have one warm process serve all stdio sessions, on Linux. `MCP_HOST_WARM=0` "
        "and `--no-warm` switch it off as well, `MCP_HOST_WARM=1` and `--warm` on.",
    )
    isolation: Literal["thread", "process"] = Field(
        "thread", description="Where packs live that do not say: in threads, or processes."
    )
    telemetry: bool = Field(
        False,
        description="Send spans and durations by OpenTelemetry, as the variables `OTEL_…` say; "
        "with `mcp-host[otel]`.",
    )
    audit: Path | None = Field(
        None,
        strict=False,
        description="The file that gets a line of JSON for every call: who, what, how it ended, "
        "and the shapes of its arguments, never their values.",
    )
    audit_max_bytes: Annotated[int, Field(ge=4096)] = Field(
        10 * 1024 * 1024, description="The size at which the audit begins a new file."
    )
    audit_keep: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="How many full files of the audit are kept beside the one at hand."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least level that is logged."
    )
    log_format: Literal["text", "json"] = Field("text", description="How the log is written.")

    @model_validator(mode="after")
    def _has_budget(self) -> Self:
        if self.expose == "auto" and self.token_budget is None:
            raise ValueError('expose = "auto" needs a token_budget')
        return self
