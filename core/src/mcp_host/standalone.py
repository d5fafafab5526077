"""One pack as a server of its own, under its own name: nothing of the host shows.

What is needed only when the settings are read is imported then: before that, a client may have got
its first answers from the saved catalogue.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from .startup.options import (
    add_options,
    identity,
    quickly,
)
from .startup.records import Record
from .startup.trust import VARIABLE, named_file
from .startup.warm.attempt import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike
    from pathlib import Path
    from typing import Any, NoReturn

    from .packs.declared import Offer
    from .serving.serving import Serving
    from .settings.loading import Settings
    from .startup.options import Given, TransportName

    Tables = Mapping[str, Any]


def _no_tables(environment: Mapping[str, str]) -> Tables:
    return {}


class Standalone(Record):
    """A pack's own server command.

    `module` is the pack's plugin module. `version` is that of the `distribution` unless it is
    given, and "0" where there is neither. `tables` makes settings, in the shape of mcp-host.toml,
    from the environment variables that the pack's own specification names; what a file given by
    `--config` says comes before them, and the command line before both. `{"env": "X"}` in them
    marks a secret, as in the file. `variables` are the names that `tables` reads. `place` is where
    this object is, as `module:name`, for the warm host; without it, each session is served alone.
    """

    pack: str
    module: str
    server_name: str
    program: str
    version: str = ""
    description: str = ""
    distribution: str = ""
    transport: TransportName = "stdio"
    started: str | None = None
    tables: Callable[[Mapping[str, str]], Tables] = _no_tables
    variables: tuple[str, ...] = ()
    place: str = ""

    def main(self, arguments: Sequence[str] | None = None) -> NoReturn:
        """Parse a command line and serve; ends the process with its exit code."""
        self.serve(self.options(sys.argv[1:] if arguments is None else arguments))

    def options(self, arguments: Sequence[str]) -> Given:
        """What a command line says; ends the process where that is nothing that can be done."""
        given = quickly(arguments, self.transport) or self.parser().parse_args(arguments)
        if given.watch:
            self.parser().error("--watch is an option of mcp-host serve")
        return given

    def parser(self) -> argparse.ArgumentParser:
        """The options that every server of one pack has."""
        import argparse

        parser = argparse.ArgumentParser(prog=self.program, description=self.description)
        add_options(parser, self.transport)
        parser.add_argument("--version", action="version", version=self._version())
        return parser

    def serve(self, given: Given) -> NoReturn:
        """Serve with the options that were read."""
        source = _named(given.config, os.environ)
        whose = identity(self.program, source, given)
        place = f"{self.place}.serving" if self.place else ""
        tried = attempt(place, given, whose, source)
        # A front, which the process has become where this is not reached, does without it.
        from .serving.start import serve

        what, settings = self.serving(given, source, None)
        serve(what.__replace__(identity=whose, **vars(tried)), settings)

    def serving(
        self, given: Given, source: str | None, digest: str | None
    ) -> tuple[Serving, Callable[[], Settings]]:
        """What is served, and what reads its settings; `source` is the file that was named."""
        from .serving.serving import Serving

        transport: TransportName = given.transport
        what = Serving(
            name=self.server_name,
            version=self._version,
            transport=transport,
            alone=self.pack,
            offers=_Here(self),
            started=self.started if transport == "stdio" else None,
            variables=self.variables,
        )
        return what, lambda: self._served_settings(given, source)

    def _served_settings(self, given: Given, source: str | None) -> Settings:
        from .settings.overrides import overridden

        return overridden(self.settings(source), given)

    def _version(self) -> str:
        if self.version or not self.distribution:
            return self.version or "0"
        from .startup.installed import finder, headers

        return headers(finder().distribution(self.distribution))["Version"][0]

    def pack_settings(self, config: str | PathLike[str] | None = None) -> Any:
        """The pack's own checked settings, for a command beside the server; as `settings`."""
        from importlib import import_module

        from .settings.pack_settings import about_project, pack_settings, project_root

        settings = self.settings(config)
        plugin = import_module(self.module)
        model = plugin.mcp_host_settings() if hasattr(plugin, "mcp_host_settings") else None
        has_root = about_project(model) and not settings.packs[self.pack].settings.get("root")
        root = project_root(settings, self.pack) if has_root else None
        return pack_settings(self.pack, model, settings, root)

    def settings(
        self,
        config: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """The settings of the pack alone; `SettingsError` says what is wrong."""
        from .settings.loading import parse

        env = os.environ if environment is None else environment
        defaults: Tables = {"packs": {self.pack: {"enabled": True}}}
        tables = _merged(defaults, self.tables(env))
        named = _named(config, env)
        source = None
        if named is not None:
            from pathlib import Path

            source = Path(named)
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
        from .packs.declared import Offer

        pack = self._pack
        if name != pack.pack:
            raise KeyError(name)
        return [Offer(name, pack.module, pack.distribution or name, pack._version())]

    def __iter__(self) -> Iterator[str]:
        return iter((self._pack.pack,))

    def __len__(self) -> int:
        return 1


def _named(config: str | PathLike[str] | None, environment: Mapping[str, str]) -> str | None:
    """The settings file that was named, by `--config` or the variable."""
    named = config or environment.get(VARIABLE)
    return named_file(named) if named else None


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    from .settings.loading import load

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
