"""`openspec mcp`: serve the tree to assistants."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_host import Standalone

from ..storage.roots import from_environment
from .output import complain

ROOT, AUTO = VARIABLES = ("OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT")


def serve(arguments: Sequence[str]) -> int:
    """Serve until the client or a signal ends it; ends the process itself."""
    server = Standalone(
        pack="openspec",
        module="mcp_host_openspec.plugin",
        server_name="openspec",
        version=version("mcp-host-openspec"),
        program="openspec mcp",
        description="Serve an OpenSpec tree to assistants.",
        distribution="mcp-host-openspec",
        tables=settings_from,
        variables=VARIABLES,
        started="[openspec-mcp] Server started on stdio",
    )
    parser = server.parser()
    parser.add_argument("--debug", action="store_true", help="log more, and how paths were chosen")
    given = parser.parse_args(arguments)
    if given.debug:
        given.log_level = given.log_level or "debug"
        complain(*(f"[openspec-mcp] {line}" for line in _paths(given.root)))
    if given.root is not None:
        # What the command line says comes before the environment.
        server = replace(server, tables=lambda variables: settings_from(variables, fixed=False))
    server.serve(given)


def settings_from(variables: Mapping[str, str], *, fixed: bool = True) -> dict[str, Any]:
    """The settings that `OPENSPEC_ROOT` and `OPENSPEC_AUTO_PROJECT_ROOT` stand for.

    Without `fixed`, only where they give every project a place of its own.
    """
    base = variables.get(ROOT)
    is_auto = variables.get(AUTO) == "true"
    if not base or not (fixed or is_auto):
        return {}
    where = str(Path(base).expanduser().absolute())
    return {"packs": {"openspec": {"settings": {"specs_root" if is_auto else "root": where}}}}


def _paths(root: Path | None) -> list[str]:
    project = (root or Path.cwd()).absolute()
    is_auto = os.environ.get(AUTO) == "true"
    use_environment = root is None or is_auto
    chosen = from_environment(project, os.environ, Path.home()) if use_environment else None
    tree = chosen.openspec if chosen else project / "openspec"
    return [
        f"Project: {project}",
        *(f"{name}: {os.environ.get(name, 'not set')}" for name in VARIABLES),
        f"OpenSpec tree: {tree} ({'there' if tree.is_dir() else 'not there yet'})",
    ]
