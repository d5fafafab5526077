"""One pack as a server of its own, under its own name: nothing of the host shows."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from .errors import SettingsError
from .packs import Offer
from .serving import EXIT_ERROR, Serving, Transport, serve, with_root
from .settings import Settings, about_project, load, pack_settings, parse, project_root
from .trust import VARIABLE

Tables = Mapping[str, Any]


def _no_tables(environment: Mapping[str, str]) -> Tables:
    return {}


@dataclass(frozen=True)
class Standalone:
    """A pack's own server command.

    `module` is the pack's plugin module. `tables` makes settings, in the shape of mcp-host.toml,
    from the environment variables that the pack's own specification names; what a file given by
    `--config` says comes before them, and the command line before both. `{"env": "X"}` in them
    marks a secret, as in the file.
    """

    pack: str
    module: str
    server_name: str
    version: str
    program: str
    description: str = ""
    distribution: str = ""
    transport: Transport = "stdio"
    started: str | None = None
    tables: Callable[[Mapping[str, str]], Tables] = _no_tables

    def main(self, arguments: Sequence[str] | None = None) -> NoReturn:
        """Parse a command line and serve; ends the process with its exit code."""
        given = self.parser().parse_args(arguments)
        self.serve(given)

    def parser(self) -> argparse.ArgumentParser:
        """The options that every server of one pack has."""
        parser = argparse.ArgumentParser(prog=self.program, description=self.description)
        add_options(parser, self.transport)
        parser.add_argument("--version", action="version", version=self.version)
        return parser

    def serve(self, given: argparse.Namespace) -> NoReturn:
        """Serve with the options that `parser` has read."""
        transport: Transport = given.transport
        is_stdio = transport == "stdio"
        what = Serving(
            name=self.server_name,
            version=self.version,
            transport=transport,
            alone=self.pack,
            offers={
                self.pack: [
                    Offer(self.pack, self.module, self.distribution or self.pack, self.version)
                ]
            },
            started=self.started if is_stdio else None,
        )
        serve(what, lambda: overridden(self.settings(given.config), given))

    def pack_settings(self, config: Path | None = None) -> Any:
        """The pack's own checked settings, for a command beside the server; as `settings`."""
        settings = self.settings(config)
        plugin = import_module(self.module)
        model = plugin.mcp_host_settings() if hasattr(plugin, "mcp_host_settings") else None
        has_root = about_project(model) and not settings.packs[self.pack].settings.get("root")
        root = project_root(settings, self.pack) if has_root else None
        return pack_settings(self.pack, model, settings, root)

    def settings(
        self, config: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """The settings of the pack alone; `SettingsError` says what is wrong."""
        env = os.environ if environment is None else environment
        defaults: Tables = {"packs": {self.pack: {"enabled": True}}}
        tables = _merged(defaults, self.tables(env))
        named = config or (Path(env[VARIABLE]) if env.get(VARIABLE) else None)
        source = named.expanduser().absolute() if named else None
        if source is not None:
            of_file = _read(source)
            own = of_file.get("packs", {}).get(self.pack, {})
            of_pack: Tables = {key: of_file[key] for key in ("host", "http") if key in of_file}
            tables = _merged(tables, {**of_pack, "packs": {self.pack: own}})
        return parse(tables, source, env)


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    load(path)  # says what is wrong with the file, also outside this pack's part of it
    return tomllib.loads(path.read_text("utf-8"))


def _merged(below: Tables, above: Tables) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        is_secret = both and (set(value) | set(merged[key])) & {"env", "file"}
        merged[key] = _merged(merged[key], value) if both and not is_secret else value
    return merged


def add_options(parser: argparse.ArgumentParser, transport: Transport) -> None:
    """The options of every command that serves."""
    parser.add_argument(
        "--transport",
        choices=("stdio", "http"),
        default=transport,
        help=f"how clients connect ({transport} unless told)",
    )
    parser.add_argument(
        "--stdio",
        dest="transport",
        action="store_const",
        const="stdio",
        help="same as --transport stdio",
    )
    parser.add_argument("--host", help="address to listen on, with http")
    parser.add_argument("--port", type=_port, help="port to listen on, with http; 0: a free one")
    parser.add_argument("--root", type=Path, help="the project's folder, for packs about a project")
    parser.add_argument("--config", type=Path, help="the settings file")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--log-format", choices=("text", "json"))


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; ports are 0 to 65535")
    return int(text)


def overridden(settings: Settings, given: argparse.Namespace) -> Settings:
    """The settings with what the command line says."""
    http = {"host": given.host, "port": given.port}
    host = {"log_level": given.log_level, "log_format": given.log_format}
    settings = settings.replace(
        http=settings.http.model_copy(update={k: v for k, v in http.items() if v is not None}),
        host=settings.host.model_copy(update={k: v for k, v in host.items() if v is not None}),
    )
    return with_root(settings, given.root)


def report(error: SettingsError) -> int:
    """Say what is wrong on standard error; the exit code for it."""
    print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one clear line
    return EXIT_ERROR
