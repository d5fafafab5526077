"""`mcp-host serve` for typer: its `--help` looks as that of every command does.

A start goes past typer, straight to `serve.py`; only `--help` comes here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..startup.options import Options
from .common import ConfigOption
from .serve import serve as begin


def serve(
    transport: Annotated[
        Literal["stdio", "http"], typer.Option(help="How clients connect.")
    ] = "stdio",
    stdio: Annotated[bool, typer.Option("--stdio", help="The same as --transport stdio.")] = False,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on, with http.", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port to listen on, with http; 0 takes a free one.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(help="The project's folder, for packs about a project.", show_default=False),
    ] = None,
    config: ConfigOption = None,
    no_catalogue: Annotated[
        bool,
        typer.Option(
            "--no-catalogue",
            help="Neither show nor save what clients saw first when the server last started.",
        ),
    ] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        typer.Option(help="The least level that is logged.", show_default=False),
    ] = None,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="How the log is written.", show_default=False),
    ] = None,
) -> None:
    """Serve the enabled packs to MCP clients, on stdio or HTTP."""
    begin(
        Options(
            transport="stdio" if stdio else transport,
            host=host,
            port=port,
            root=str(root) if root is not None else None,
            config=str(config) if config is not None else None,
            no_catalogue=no_catalogue,
            log_level=log_level,
            log_format=log_format,
        )
    )
