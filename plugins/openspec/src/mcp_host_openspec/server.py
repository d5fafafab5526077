"""`openspec mcp`: the server that the pack is by itself.

A client may have its first answers before the settings are read; what is needed only from then on,
or for `--debug`, is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from mcp_host import Standalone

from . import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

ROOT: Final = "OPENSPEC_ROOT"
AUTO: Final = "OPENSPEC_AUTO_PROJECT_ROOT"
CACHE: Final = "OPENSPEC_CACHE"


class _Server(Standalone):
    """A server with one option more, which argparse reads where it is given."""

    def parser(self) -> argparse.ArgumentParser:
        parser = super().parser()
        parser.add_argument(
            "--debug", action="store_true", help="log more, and how paths were chosen"
        )
        return parser


def _server(*, fixed: bool) -> Standalone:
    """The server; `fixed` says that the working directory is the project."""
    return _Server(
        pack="openspec",
        module="mcp_host_openspec.plugin",
        server_name="openspec",
        version=__version__,
        program="openspec mcp",
        description="Serve an OpenSpec tree to assistants.",
        distribution="mcp-host-openspec",
        tables=lambda variables: settings_from(variables, fixed=fixed),
        variables=(ROOT, AUTO, CACHE),
        started="[openspec-mcp] Server started on stdio",
    )


SERVER: Final = _server(fixed=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serve until the client or a signal ends it; ends the process itself."""
    given = SERVER.options(sys.argv[1:] if arguments is None else arguments)
    if getattr(given, "debug", False):
        _debug(given)
    # What the command line says comes before the environment.
    server = SERVER if given.root is None else _server(fixed=False)
    server.serve(given)


def settings_from(variables: Mapping[str, str], *, fixed: bool = True) -> dict[str, Any]:
    """The settings that the environment stands for.

    The project is the working directory, whichever that is: the specification makes no exception.
    Without `fixed` the command line names it, and the variables count only where they give every
    project a place of its own.
    """
    from pathlib import Path

    base = variables.get(ROOT)
    is_auto = variables.get(AUTO) == "true"
    tables: dict[str, Any] = {"host": {"root": str(Path.cwd())}} if fixed else {}
    settings: dict[str, Any] = {"cache": False} if variables.get(CACHE) == "0" else {}
    if base and (fixed or is_auto):
        where = str(Path(base).expanduser().absolute())
        settings["specs_root" if is_auto else "root"] = where
    if settings:
        tables["packs"] = {"openspec": {"settings": settings}}
    return tables


def _debug(given: Any) -> None:
    """Log more, and say on standard error which tree is served and what it was chosen by."""
    from pathlib import Path

    from .cli.output import complain
    from .storage.roots import from_environment

    given.log_level = given.log_level or "debug"
    root = given.root
    project = Path(root).absolute() if root else Path.cwd()
    is_auto = os.environ.get(AUTO) == "true"
    use_environment = root is None or is_auto
    chosen = from_environment(project, os.environ, Path.home()) if use_environment else None
    tree = chosen.openspec if chosen else project / "openspec"
    lines = [
        f"Project: {project}",
        *(f"{name}: {os.environ.get(name, 'not set')}" for name in (ROOT, AUTO)),
        f"OpenSpec tree: {tree} ({'there' if tree.is_dir() else 'not there yet'})",
    ]
    complain(*(f"[openspec-mcp] {line}" for line in lines))
