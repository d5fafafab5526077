"""The questions the host asks a pack, and the marker of an answer.

A pack's `plugin` module answers those it wants, each as a synchronous function marked `hookimpl`,
naming only the arguments it uses. The host asks one pack at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Literal

import pluggy

if TYPE_CHECKING:
    from .declarations.bus import OpenBus
    from .declarations.extension import Extension
    from .declarations.handle import PackHandle
    from .declarations.needs import Needs
    from .declarations.prompt import Prompt
    from .declarations.resource import Resource
    from .declarations.tool import Tool

PROJECT = "mcp_host"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def mcp_host_settings() -> type[Any]:  # type: ignore[empty-body]
    """Return the pack's settings: a frozen pydantic model, every field with a default.

    A field `root` of type Path makes it a pack about a project: the host fills it in. Since 0.1.
    """


@hookspec
def mcp_host_open(settings: Any, pack: PackHandle) -> AbstractAsyncContextManager[Any]:  # type: ignore[empty-body]
    """Return an async context manager; what it yields is the pack's service. Since 0.1."""


@hookspec
def mcp_host_tools(settings: Any) -> Sequence[Tool]:  # type: ignore[empty-body]
    """Return the pack's tools. Since 0.1."""


@hookspec
def mcp_host_resources(settings: Any) -> Sequence[Resource]:  # type: ignore[empty-body]
    """Return the pack's resources and templates. Since 0.1."""


@hookspec
def mcp_host_prompts(settings: Any) -> Sequence[Prompt]:  # type: ignore[empty-body]
    """Return the pack's prompts. Since 0.1."""


@hookspec
def mcp_host_instructions(settings: Any) -> str:  # type: ignore[empty-body]
    """Return what a model should know of the pack, in at most 500 characters. Since 0.1."""


@hookspec
def mcp_host_errors() -> Mapping[type[Exception], str]:  # type: ignore[empty-body]
    """Return which of the pack's exceptions stand for which error code. Since 0.1."""


@hookspec
def mcp_host_acts_as() -> Literal["server-user"]:  # type: ignore[empty-body]
    """Return "server-user" for a pack that works on the server user's own files. Since 0.1."""


@hookspec
def mcp_host_extensions(settings: Any) -> Sequence[Extension]:  # type: ignore[empty-body]
    """Return the protocol extensions that the pack serves. Since 0.1."""


@hookspec
def mcp_host_bus(settings: Any) -> OpenBus | None:
    """Return what opens a `Bus` between processes: every pack's notices cross by it. Since 0.1."""


@hookspec
def mcp_host_needs() -> Needs:  # type: ignore[empty-body]
    """Return what the pack reads and hands on, and whether sessions share it. Since 0.1."""


@hookspec
def mcp_host_checks(settings: Any) -> Sequence[Any]:  # type: ignore[empty-body]
    """Return functions for `mcp-host doctor`, each giving a finding or None. Since 0.1."""
