"""What this pack answers to the host's questions.

Lists wait for this module and for what it imports. So what reads, checks and writes trees is
imported when the pack opens.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal

from mcp_host import Needs, Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import OpenSpecSettings

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .service.service import Service


@hookimpl
def mcp_host_settings() -> type[OpenSpecSettings]:
    return OpenSpecSettings


@hookimpl
def mcp_host_open(
    settings: OpenSpecSettings, pack: "PackHandle"
) -> AbstractAsyncContextManager["Service"]:
    from .opening import open_service

    return open_service(settings, pack)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [
        tools.init,
        tools.list_items,
        tools.show,
        tools.validate,
        tools.archive,
        tools.update_project_context,
    ]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [
        resources.instructions,
        resources.project,
        resources.specs,
        resources.spec,
        resources.changes,
        resources.change,
        resources.proposal,
        resources.tasks,
        resources.design,
        resources.archive,
    ]


@hookimpl
def mcp_host_prompts() -> Sequence[Prompt]:
    return [prompts.propose, prompts.apply, prompts.archive]


@hookimpl
def mcp_host_instructions() -> str:
    return (
        "The project's OpenSpec tree: specs say what is true, changes say what shall become true. "
        "Read openspec://instructions before proposing a change, find names with {tool:list}, and "
        "run {tool:validate} before and {tool:archive} with dryRun before archiving. "
        "Agrees with OpenSpec 1.13.2."
    )


@hookimpl
def mcp_host_needs() -> Needs:
    # What the library reads that watches the tree.
    return Needs(reads_environment=("WATCHFILES_*",))


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {
        errors.OpenSpecError: "validation_error",
        errors.NoTreeError: "not_found",
        errors.NotFoundError: "not_found",
        errors.InvalidNameError: "validation_error",
        errors.AmbiguousError: "validation_error",
        errors.OutsideTreeError: "permission_denied",
        errors.BadFileError: "validation_error",
        errors.CannotWriteError: "unavailable",
        errors.AlreadyInitialisedError: "conflict",
        errors.ConflictError: "conflict",
        errors.RefusedError: "conflict",
        errors.ChangedError: "conflict",
        errors.LockedError: "busy",
        errors.WithdrawnError: "cancelled",
    }


@hookimpl
def mcp_host_acts_as() -> Literal["server-user"]:
    return "server-user"
