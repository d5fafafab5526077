"""The pack's answers to the host."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mcp_host import PackHandle, Prompt, Resource, Tool, hookimpl

from . import prompts, resources
from .service import Lists
from .tools import asking, calls, content, jobs, schemas


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack: PackHandle) -> AsyncIterator[Lists]:
    yield Lists(announce=pack.lists_changed)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [*content.TOOLS, *calls.TOOLS, *asking.TOOLS, *schemas.TOOLS, *jobs.TOOLS]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return resources.RESOURCES


@hookimpl
def mcp_host_prompts() -> Sequence[Prompt]:
    return prompts.PROMPTS
