"""The Cortex pack: its answers to the host."""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from mcp_host import Finding, PackHandle, Prompt, Resource, Tool, hookimpl

from mcp_host_cortex_tasks import errors, prompts, resources, tools
from mcp_host_cortex_tasks.service.command import Ctx
from mcp_host_cortex_tasks.service.setup import what_is_missing
from mcp_host_cortex_tasks.service.watch import Watch
from mcp_host_cortex_tasks.settings import CortexSettings

# What ctx, git and ssh heed besides what the host hands on: the way out of a company's network,
# the user's own git and ssh, the keyring.
PASSED_ON = (
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "CORTEX_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "GIT_CONFIG_GLOBAL",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GNUPGHOME",
)


@hookimpl
def mcp_host_settings() -> type[CortexSettings]:
    return CortexSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: CortexSettings, pack: PackHandle) -> AsyncIterator[Ctx]:
    folder = settings.root or Path.cwd()

    def noticed(error: errors.CortexError | None) -> None:
        missing = what_is_missing(folder, settings.home, error)
        if missing is None:
            pack.recovered()
        else:
            pack.degraded(missing.reason, code="not_set_up", remedy=missing.remedy)

    watch = Watch(folder, pack.changed, every=settings.poll)
    ctx = Ctx(
        pack.run,
        _program(settings.command),
        folder,
        list_limit=settings.list_timeout,
        git_limit=settings.git_timeout,
        environment=_environment(settings),
        use_title=settings.default_message == "title",
        changed=pack.changed,
        noticed=noticed,
        watched=watch.begin,
        named=pack.public_name,
    )
    noticed(None)
    watching = asyncio.create_task(watch.run(ctx.tasks))
    try:
        yield ctx
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


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
        there = shutil.which("git")
        return None if there else Finding("git is not on the PATH", "install git 2.36 or newer")

    def ctx_is_there() -> Finding | None:
        program = _program(settings.command)[0]
        if shutil.which(program):
            return None
        return Finding(f"{program} is not there", "name the ctx to run in the setting 'command'")

    return [git_is_there, ctx_is_there]


@hookimpl
def mcp_host_acts_as() -> Literal["server-user"]:
    return "server-user"


def _program(command: str | tuple[str, ...]) -> tuple[str, ...]:
    """The program to run: `ctx` is the one installed beside this Python, else on the PATH."""
    given = (command,) if isinstance(command, str) else command
    beside = shutil.which(given[0], path=str(Path(sys.executable).parent))
    if given[0] == "ctx" and beside:
        return (beside, *given[1:])
    return given


def _environment(settings: CortexSettings) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return passed | ({"CORTEX_HOME": str(settings.home)} if settings.home else {})
