"""Which commands there are: the host's own, and those that other distributions bring."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module, metadata
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from ..errors import SettingsError

GROUP = "mcp_host.commands"
"""The entry points by which a distribution brings commands: a function for typer, or a `Typer`."""
OWN = {
    "init": "init:init",
    "trust": "trust:trust",
    "serve": "serve_help:serve",
    "reload": "reload:reload",
    "packs": "packs:packs",
    "enable": "enable:enable",
    "disable": "disable:disable",
    "add": "add.command:add",
    "remove": "add.command:remove",
    "tools": "tools:tools",
    "resources": "resources:resources",
    "prompts": "prompts:prompts",
    "tokens": "tokens:tokens",
    "call": "call:call",
    "read": "read:read",
    "prompt": "prompt:prompt",
    "connect": "connect.command:connect",
    "clients": "connect.command:clients",
    "install": "install.command:install",
    "uninstall": "install.command:uninstall",
    "doctor": "doctor:doctor",
    "lock": "lock:lock",
    "approve": "approve:approve",
    "demo": "demo:demo",
    "config": "config:config_app",
    "warm": "warm:warm_app",
}
"""The host's own, in the order of `--help`: a module of this folder, and the command in it."""
EXTRAS = {
    "adopt": "mount",
    "login": "mount",
    "logout": "mount",
    "new": "dev",
    "dev": "dev",
    "check": "dev",
    "watch": "dev",
    "bundle": "dev",
}
"""Commands of distributions beside the host, each with the extra that installs it."""


class Command(TyperCommand):
    """A command whose help is for people: `--json`, not `--json <bool>`; `<str>`, not its list."""

    def get_params(self, ctx: Any) -> Any:
        return _with_types_for_people(super().get_params(ctx))


class Commands(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = CommandTable()  # type: ignore[assignment]  # nothing is added to it

    def get_params(self, ctx: Any) -> Any:
        return _with_types_for_people(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """The names alone: no command is loaded for them."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """The command that is meant; one that an extra would bring is named with it."""
        name = args[0]
        if name in EXTRAS and name not in self.commands and not ctx.resilient_parsing:
            install = f'pip install "mcp-host[{EXTRAS[name]}]"'
            ctx.fail(f"The command '{name}' is not installed. It comes with: {install}")
        return super().resolve_command(ctx, args)


class CommandTable(Mapping[str, Any]):
    """Every command by its name, loaded when it is asked for.

    What is installed is looked through only for a name that is none of the host's own, and to tell
    all of them. The host's own come before those of others.
    """

    def __getitem__(self, name: str) -> Any:
        if name in OWN:
            module, _, attribute = OWN[name].partition(":")
            return _made(name, getattr(import_module(f".{module}", __package__), attribute))
        points = list(metadata.entry_points(group=GROUP, name=name))
        if not points:
            raise KeyError(name)
        return _brought(name, points)

    def __iter__(self) -> Iterator[str]:
        yield from OWN
        brought = {point.name for point in metadata.entry_points(group=GROUP)}
        yield from sorted(brought - OWN.keys())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _with_types_for_people(parameters: Sequence[Any]) -> Sequence[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
        elif "display_type" not in vars(parameter):
            parameter.display_type = partial(_type_of_each, parameter.display_type)
    return parameters


def _type_of_each(shown: Callable[[Any], str], ctx: Any) -> str:
    """The type of one value, also where several may be given: the dots behind the name say that."""
    return re.sub(r"^<list\[(.*)\]>$", r"<\1>", shown(ctx))


def _made(name: str, found: Callable[..., Any] | typer.Typer, **how: Any) -> Any:
    """What typer makes of a function or of an application."""
    around = typer.Typer(add_completion=False)
    around.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name, cls=Command, **how)(found)
    group: Any = typer.main.get_command(around)
    return group.commands[name]


def _brought(name: str, points: Sequence[metadata.EntryPoint]) -> Any:
    """The command of another distribution; one that says why, where it cannot be had."""
    owners = sorted({point.dist.name for point in points if point.dist is not None})
    if len(points) > 1:
        return _broken(
            name, f"{' and '.join(owners)} both bring a command '{name}': uninstall one of them"
        )
    (point,) = points
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        return _broken(name, f"the command '{name}' of {owners[0]} cannot be loaded: {why}")
    if not callable(found):
        return _broken(
            name,
            f"the command '{name}' of {owners[0]} must be a function or a typer.Typer, not "
            f"{type(found).__name__}",
        )
    return _made(name, found)


def _broken(name: str, reason: str) -> Any:
    def complain() -> None:
        raise SettingsError(reason)

    return _made(
        name,
        complain,
        help=f"Cannot be used: {reason}.",
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
