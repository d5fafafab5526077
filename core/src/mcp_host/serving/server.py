"""The SDK's lowlevel server, as clients of the handshake era must know it."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


class LegacyAwareServer(Server[Any]):
    """Tells clients of the handshake era what is so: lists change, unless nothing can reach them.

    `reaches_legacy` is False where no session is kept.
    """

    reaches_legacy = True

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> Any:
        options = notification_options or NotificationOptions(
            self.reaches_legacy, self.reaches_legacy, self.reaches_legacy
        )
        return super().create_initialization_options(options, *more, **named)

    def get_capabilities(
        self,
        *more: Any,
        protocol_version: str | None = None,
        **named: Any,
    ) -> types.ServerCapabilities:
        told = super().get_capabilities(*more, protocol_version=protocol_version, **named)
        if self.reaches_legacy or protocol_version in MODERN_PROTOCOL_VERSIONS:
            return told
        resources = told.resources and told.resources.model_copy(update={"subscribe": False})
        return told.model_copy(update={"resources": resources, "logging": None})
