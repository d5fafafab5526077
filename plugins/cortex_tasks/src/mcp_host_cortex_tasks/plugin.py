"""The Cortex pack: its answers to the host.

Lists wait for this module and for what it imports. So the command and the watch, with all that they
need, are imported when the pack opens.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mcp_host import Finding, Prompt, Resource, Tool, hookimpl

from mcp_host_cortex_tasks import errors, prompts, resources, tools
from mcp_host_cortex_tasks.settings import CortexSettings

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from mcp_host_cortex_tasks.service.command import Ctx


@hookimpl
def mcp_host_settings() -> type[CortexSettings]:
    return CortexSettings


@hookimpl
def mcp_host_open(
    settings: CortexSettings, pack: "PackHandle"
) -> AbstractAsyncContextManager["Ctx"]:
    from mcp_host_cortex_tasks.opening import opened

    return opened(settings, pack, _program(settings.command))


@hookimpl
def mcp_host_tools(settings: CortexSettings) -> Sequence[Tool]:
    readers = [tool.replace(timeout=settings.list_timeout + tools.GRACE) for tool in tools.READERS]
    workers = [tool.replace(timeout=settings.git_timeout + tools.GRACE) for tool in tools.WORKERS]
    return [*readers, *workers]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return resources.ALL


@hookimpl
def mcp_host_prompts() -> Sequence[Prompt]:
    return prompts.ALL


@hookimpl
def mcp_host_instructions() -> str:
    return (
        "Cortex: a team's tasks, worked on in git. list_tasks, start_task (branch), work,"
        " submit_pr (commit, push, pull request), and after the merge complete_task. Every call is"
        " safe to repeat; an error with reason `pending` is finished by calling again."
    )


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {kind: kind.code for kind in errors.EVERY_CLASS}


@hookimpl
def mcp_host_checks(settings: CortexSettings) -> Sequence[Callable[[], Finding | None]]:
    def git_is_there() -> Finding | None:
        there = _found("git")
        return None if there else Finding("git is not on the PATH", "install git 2.36 or newer")

    def ctx_is_there() -> Finding | None:
        program = _program(settings.command)[0]
        if _found(program):
            return None
        return Finding(f"{program} is not there", "name the ctx to run in the setting 'command'")

    return [git_is_there, ctx_is_there]


@hookimpl
def mcp_host_acts_as() -> Literal["server-user"]:
    return "server-user"


def _program(command: str | tuple[str, ...]) -> tuple[str, ...]:
    """The program to run: `ctx` is the one installed beside this Python, else on the PATH."""
    given = (command,) if isinstance(command, str) else command
    beside = _found(given[0], str(Path(sys.executable).parent))
    if given[0] == "ctx" and beside:
        return (beside, *given[1:])
    return given


def _found(program: str, path: str | None = None) -> str | None:
    from shutil import which

    return which(program, path=path)
