"""One pack as a server of its own, under its own name: nothing of the host shows.

What is needed only when the settings are read is imported then: before that, a client may have got
its first answers from the saved catalogue.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .saved import Identity
from .serving import Serving, Transport, serve, with_root
from .trust import VARIABLE, working_folder

if TYPE_CHECKING:
    from .packs import Offer
    from .settings import Settings

Tables = Mapping[str, Any]


def _no_tables(environment: Mapping[str, str]) -> Tables:
    return {}


@dataclass(frozen=True)
class Standalone:
    """A pack's own server command.

    `module` is the pack's plugin module. `tables` makes settings, in the shape of mcp-host.toml,
    from the environment variables that the pack's own specification names; what a file given by
    `--config` says comes before them, and the command line before both. `{"env": "X"}` in them
    marks a secret, as in the file. `variables` are the names that `tables` reads.
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
    variables: tuple[str, ...] = ()

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
        what = Serving(
            name=self.server_name,
            version=self.version,
            transport=transport,
            alone=self.pack,
            offers=_Here(self),
            started=self.started if transport == "stdio" else None,
            identity=identity(self.program, _named(given.config, os.environ), given),
            variables=self.variables,
        )
        serve(what, lambda: overridden(self.settings(given.config), given))

    def pack_settings(self, config: Path | None = None) -> Any:
        """The pack's own checked settings, for a command beside the server; as `settings`."""
        from .settings import about_project, pack_settings, project_root

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
        from .settings import parse

        env = os.environ if environment is None else environment
        defaults: Tables = {"packs": {self.pack: {"enabled": True}}}
        tables = _merged(defaults, self.tables(env))
        source = _named(config, env)
        if source is not None:
            of_file = _read(source)
            own = of_file.get("packs", {}).get(self.pack, {})
            of_pack: Tables = {key: of_file[key] for key in ("host", "http") if key in of_file}
            tables = _merged(tables, {**of_pack, "packs": {self.pack: own}})
        return parse(tables, source, env)


class _Here(Mapping[str, "Sequence[Offer]"]):
    """The one offer of a stand-alone pack; made when it is asked for."""

    def __init__(self, pack: Standalone) -> None:
        self._pack = pack

    def __getitem__(self, name: str) -> Sequence[Offer]:
        from .packs import Offer

        pack = self._pack
        if name != pack.pack:
            raise KeyError(name)
        return [Offer(name, pack.module, pack.distribution or name, pack.version)]

    def __iter__(self) -> Iterator[str]:
        return iter((self._pack.pack,))

    def __len__(self) -> int:
        return 1


def _named(config: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The settings file that was named, by `--config` or the variable."""
    named = config or (Path(environment[VARIABLE]) if environment.get(VARIABLE) else None)
    return named.expanduser().absolute() if named else None


def identity(program: str, source: Path | None, given: argparse.Namespace) -> Identity | None:
    """Which saved catalogue belongs to a command line; None where it wants none."""
    if given.no_catalogue or given.transport == "http":
        return None
    root = str(given.root.absolute() if given.root else working_folder())
    return Identity(program, source, root)


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    from .settings import load

    load(path)  # says what is wrong with the file, also outside this pack's part of it
    return tomllib.loads(path.read_text("utf-8"))


def _merged(below: Tables, above: Tables) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        whole = key == "settings" or not (both and (_is_secret(value) or _is_secret(merged[key])))
        merged[key] = _merged(merged[key], value) if both and whole else value
    return merged


def _is_secret(table: Tables) -> bool:
    """Whether this stands for one value; a pack's settings may have a key `env` as well."""
    return set(table) == {"file"} or ("env" in table and set(table) <= {"env", "default"})


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
    parser.add_argument(
        "--no-catalogue",
        action="store_true",
        help="neither show nor save what clients saw first when the server last started",
    )
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
