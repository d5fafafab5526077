"""Answers of the pack to the host; the tools are in `tools`, those that ask in `asking`."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from mcp_host import Finding, PackHandle, hookimpl
from pydantic import BaseModel, ConfigDict, Field

from . import asking, tools
from .service import Desk, DrawerStuck, NoSuchPaper


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rows: int = 5
    scratch: Path | None = None


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path | None = Field(None, description="The project.")
    key: str = Field("", description="Opens the drawer.")
    env: str = Field("home", description="Where the desk stands.")
    papers: Path = Field(Path("papers"), description="Where papers are.")
    shelves: list[Path] = Field(default_factory=list, description="More places.")
    mood: Literal["calm", "busy"] = "calm"
    limits: Limits = Field(default_factory=Limits)


@hookimpl
def mcp_host_settings() -> type[Settings]:
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: Settings, pack: PackHandle):
    logging.getLogger("mcp_host.packs").warning("the desk is opened with %s", settings.key)
    if settings.mood == "busy":
        pack.degraded(f"no time for {settings.key}", code="busy_desk", remedy="come back")
    yield Desk(settings, pack)


@hookimpl
def mcp_host_tools():
    return [*tools.TOOLS, *asking.TOOLS]


@hookimpl
def mcp_host_resources():
    return tools.RESOURCES


@hookimpl
def mcp_host_prompts():
    return [*tools.PROMPTS, asking.letter]


@hookimpl
def mcp_host_errors():
    return {DrawerStuck: "unavailable", NoSuchPaper: "not_found"}


@hookimpl
def mcp_host_checks(settings: Settings):
    def key_is_given():
        if settings.mood == "busy":
            return Finding(f"the key {settings.key} is worn", "have a new one cut")
        return None

    return [key_is_given]
