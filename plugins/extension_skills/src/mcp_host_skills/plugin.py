"""What this pack answers to the host's questions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_host import Extension, Needs, PackHandle, Resource, hookimpl

from . import errors, methods, resources
from .model import SKILL_AT, Served, Skills

IDENTIFIER = "io.modelcontextprotocol/skills"


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack: PackHandle) -> AsyncIterator[Skills]:
    yield Skills(lambda: [Served(one.pack, one.name, Path(one.folder)) for one in pack.skills])


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [resources.index, resources.skill_file]


@hookimpl
def mcp_host_extensions() -> Sequence[Extension]:
    own = [methods.list_skills, methods.get_skill, methods.read_directory]
    return [Extension(IDENTIFIER, {"directoryRead": True}, methods=own, skills_at=SKILL_AT)]


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=())


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {errors.SkillsError: "not_found"}
