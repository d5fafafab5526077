"""`mcp-host serve` for typer: its `--help` looks as that of every command does.

A start goes past typer, straight to `serve.py`; only `--help` comes here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from ..startup.options import CHOICES, HELP, Options
from .common import ConfigOption
from .serve import serve as begin

if TYPE_CHECKING:
    Transport: TypeAlias = str
    LogLevel: TypeAlias = str
    LogFormat: TypeAlias = str
else:  # typer looks at them as it runs
    Transport = Literal[CHOICES["--transport"]]
    LogLevel = Literal[CHOICES["--log-level"]]
    LogFormat = Literal[CHOICES["--log-format"]]


def _option(name: str, **how: Any) -> Any:
    """An option as the table has it."""
    return typer.Option(name, help=HELP[name], **{"show_default": False, **how})


def serve(
    transport: Annotated[Transport, _option("--transport", show_default=True)] = "stdio",
    stdio: Annotated[bool, _option("--stdio")] = False,
    host: Annotated[str | None, _option("--host")] = None,
    port: Annotated[int | None, _option("--port", min=0, max=65535)] = None,
    root: Annotated[Path | None, _option("--root")] = None,
    config: ConfigOption = None,
    profile: Annotated[str | None, _option("--profile")] = None,
    no_catalogue: Annotated[bool, _option("--no-catalogue")] = False,
    warm: Annotated[bool, _option("--warm")] = False,
    no_warm: Annotated[bool, _option("--no-warm")] = False,
    watch: Annotated[bool, _option("--watch")] = False,
    log_level: Annotated[LogLevel | None, _option("--log-level")] = None,
    log_format: Annotated[LogFormat | None, _option("--log-format")] = None,
) -> None:
    """Serve the enabled packs to MCP clients, on stdio or HTTP."""
    begin(
        Options(
            transport="http" if transport == "http" and not stdio else "stdio",
            host=host,
            port=port,
            root=str(root) if root is not None else None,
            config=str(config) if config is not None else None,
            profile=profile,
            no_catalogue=no_catalogue,
            warm=False if no_warm else warm or None,
            watch=watch,
            log_level=log_level,
            log_format=log_format,
        )
    )
