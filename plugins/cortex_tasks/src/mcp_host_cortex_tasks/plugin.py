"""The Cortex pack: its answers to the host.

Lists wait for this module and for what it imports. So the service, with all that it needs, is
imported when the pack opens.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal

from mcp_host import Finding, Needs, Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import CortexSettings

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .service import Service


@hookimpl
def mcp_host_settings() -> type[CortexSettings]:
    return CortexSettings


@hookimpl
def mcp_host_open(
    settings: CortexSettings, pack: "PackHandle"
) -> AbstractAsyncContextManager["Service"]:
    from .opening import open_service

    return open_service(settings, pack)


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
def mcp_host_needs() -> Needs:
    # What ctx, git and ssh heed besides what the host hands on: the way out of a company's
    # network, the user's own git and ssh, the keyring.
    return Needs(
        reads_environment=("CORTEX_HOME",),
        child_environment=(
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
        ),
    )


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {kind: kind.code for kind in errors.EVERY_CLASS}


@hookimpl
def mcp_host_checks(settings: CortexSettings) -> Sequence[Callable[[], Finding | None]]:
    def which(program: str) -> str | None:
        import shutil  # only for `doctor`, where the lists do without

        return shutil.which(program)

    def git_is_there() -> Finding | None:
        there = which("git")
        return None if there else Finding("git is not on the PATH", "install git 2.36 or newer")

    def ctx_is_there() -> Finding | None:
        from .program import program  # as above

        ctx = program(settings)[0]
        if which(ctx):
            return None
        return Finding(f"{ctx} is not there", "name the ctx to run in the setting 'command'")

    return [git_is_there, ctx_is_there]


@hookimpl
def mcp_host_acts_as() -> Literal["server-user"]:
    return "server-user"
