"""The tables of packs and of their tools, and profiles, which choose among packs."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .table import Count, Seconds, Table

PACK_NAME = r"^[a-z][a-z0-9_]{0,31}$"
PROFILE_NAME = r"^[A-Za-z0-9_-]{1,64}$"
RESERVED_PACK_NAME = "host"
SIZE = r"^[0-9]{1,9}(\.[0-9]{1,3})? ?(KiB|MiB|GiB|KB|MB|GB)$"
UNITS = {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


class ArgumentTable(Table):
    """One of [packs.X.tools.T.arguments.A]."""

    value: Any = Field(None, description="What the tool gets where a call does not give it.")
    hidden: bool = Field(
        False, description="Take it from the schema: no call may give it, and `value` counts."
    )
    description: str | None = Field(None, description="What is said of it, in place of its own.")


class ToolTable(Table):
    """One of [packs.X.tools.T]."""

    timeout: Seconds | None = Field(None, description="Seconds a call of this tool may take.")
    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="What it is called, in place of its own name; the prefix stands before it.",
    )
    description: str | None = Field(None, description="What is said of it, in place of its own.")
    hidden: bool = Field(False, description="Serve the pack as if it had no such tool.")
    cache: Seconds | None = Field(
        None, description="Seconds that its answers are kept; of tools marked read-only alone."
    )
    arguments: dict[str, ArgumentTable] = Field({}, description="Settings of one argument.")


class PackTable(Table):
    """One of [packs.X]."""

    enabled: bool = Field(True, description="Whether the pack is imported and served.")
    required: bool = Field(False, description="Whether the host ends when the pack fails.")
    distribution: str | None = Field(
        None, description="Which distribution, where several offer a pack of this name."
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="A file of Python that is the pack, in place of an installed one.",
    )
    prefix: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{0,32}$",
        description="What stands before the names of its tools and prompts; the pack's name.",
    )
    timeout: Seconds | None = Field(None, description="Seconds a call of this pack may take.")
    max_concurrency: Count = Field(32, description="Calls of this pack that run at once.")
    include: list[str] = Field(
        [], description="Tools to serve, as globs of their own names; else all."
    )
    exclude: list[str] = Field([], description="Tools to leave out, as globs.")
    read_only: bool = Field(False, description="Serve only what is marked read-only.")
    trust_annotations: bool = Field(
        False,
        description="Go by what a mounted server says of its tools, such as that they only read, "
        "also where nobody has agreed to it with `mcp-host approve`.",
    )
    shared: bool = Field(
        False, description="Serve it beyond this machine although it acts as the server's user."
    )
    isolation: Literal["thread", "process"] | None = Field(
        None,
        description="Where the pack lives: in threads of the host, or in a process of its own; "
        "`[host] isolation` where it does not say.",
    )
    sessions: Literal["shared", "apart"] | None = Field(
        None,
        description="Whether the sessions of the warm host share the pack, opened once; what the "
        "pack declares where it does not say.",
    )
    python: str | None = Field(
        None,
        min_length=1,
        description="The interpreter of an environment of its own; the pack is a process then.",
    )
    memory: str | None = Field(
        None,
        pattern=SIZE,
        description='Memory of its process and those it starts, such as "512MiB"; over it, '
        "the process is ended and started again.",
    )
    cpu: Seconds | None = Field(
        None, description="Seconds of processor that one call in its process may take."
    )
    open_files: Annotated[int, Field(ge=16, le=1_000_000)] | None = Field(
        None, description="Files that its process may have open at once."
    )
    processes: Count | None = Field(
        None, description="Processes that it may have at once, its own among them."
    )
    tools: dict[str, ToolTable] = Field({}, description="Settings of one tool.")
    settings: dict[str, Any] = Field(
        {}, description="The pack's own settings, checked by its model."
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.file is not None and self.distribution is not None:
            raise ValueError("file must not stand beside distribution: a file is the whole pack")
        return self

    @property
    def memory_bytes(self) -> int | None:
        """The memory that its process may use, in bytes."""
        if self.memory is None:
            return None
        number = self.memory.rstrip("KMGiB ")
        return int(float(number) * UNITS[self.memory.removeprefix(number).strip()])


class ProfileTable(Table):
    """One of [profiles.X]."""

    packs: list[Annotated[str, Field(pattern=PACK_NAME)]] | None = Field(
        None, description="The packs to serve, of those that are enabled; else all."
    )
    read_only: bool = Field(False, description="Serve only what is marked read-only.")
