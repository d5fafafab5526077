"""The two commands: they show what they will run, ask, and leave nothing half done."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from tomlkit import TOMLDocument

from ...errors import SettingsError
from ...packs.discovery import discover
from ...settings.editing import SettingsFile
from ...settings.loading import load
from ...startup.trust import choose
from ..brought import learn
from ..common import ConfigOption, say
from ..completion import installed_packs
from ..init import init
from ..settings_file import set_enabled
from . import record
from .environment import Installer, as_it_is, installer, normal, run, versions
from .plugin import Plugin, is_plugin, read as read_plugin
from .source import Wanted, wanted

CODE = "A pack is code that runs as you. Go on?"
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def add(
    source: Annotated[
        str, typer.Argument(help="A distribution, a wheel, an Agent Plugin, a folder of sources.")
    ],
    yes: YesOption = False,
    build: Annotated[
        bool, typer.Option("--build", help="Allow what is not a wheel; it runs a build.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Install a pack into the host's own environment, and enable it."""
    folder = Path(source).expanduser()
    if is_plugin(folder):
        _add_plugin(read_plugin(folder), yes, config)
        return
    path = _settings(config)
    what = wanted(source, build=build)
    who = installer()
    plan = who.plan(what.requirement, build=build)
    before = versions()
    if plan:
        with as_it_is() as pins:
            command = who.install(what.requirement, pins, build=build)
            told = "".join(f"\n  {name} {version}" for name, version in sorted(plan.items()))
            comes = f"This comes into {sys.prefix}, kept by {who.kind}:{told}"
            _agree(comes, command, yes, CODE)
            packs = _installed(who, command, what, before)
    else:
        print(f"{source} is installed already.")
        packs = _packs_of({normal(what.distribution)})
        if not packs:
            raise SettingsError(f"{source} is installed, and offers no pack")
    _enable(packs, path, config)


def remove(
    name: Annotated[
        str, typer.Argument(help="The pack, or its distribution.", autocompletion=installed_packs)
    ],
    yes: YesOption = False,
    config: ConfigOption = None,
) -> None:
    """Disable a pack and uninstall its distribution, with what came with it alone."""
    path = _settings(config)
    if name not in discover() and _is_mounted(name, config):
        _remove_mounted(name, yes, config)
        return
    who = installer()
    distribution = _distribution(name)
    packs = _packs_of({distribution})
    whole = who.kind in ("pip", "uv")
    going = record.not_needed(distribution) if whole else [distribution]
    known = versions()
    told = "".join(f"\n  {one} {known[one]}" for one in going if one in known)
    command = who.uninstall([one for one in going if one in known])
    _agree(f"This goes from {sys.prefix}, kept by {who.kind}:{told}", command, yes)
    run(command)
    importlib.invalidate_caches()
    if distribution in versions():
        raise SettingsError(
            f"{distribution} is still here: it came with mcp-host itself, as an extra; install "
            "mcp-host again without it"
        )
    record.forget(distribution)
    for pack in packs:
        with suppress(SettingsError):
            if path is not None and pack in load(path).packs:
                set_enabled(path, pack, False)
                print(f"{pack} is disabled in {path}; its settings stay.")
    print(f"{distribution} is gone.")


def _add_plugin(plugin: Plugin, yes: bool, config: Path | None) -> None:
    file = SettingsFile.chosen(config)
    runs = "".join(
        f"\n  {pack}: {shlex.join(table['command']) if 'command' in table else table['url']}"
        for pack, table in plugin.packs.items()
    )
    for left_out in plugin.skipped:
        say(left_out)
    _agree(f"These packs come into {file.path}, and run:{runs}", (), yes, CODE)
    file.add_packs(plugin.packs)
    for pack in plugin.packs:
        print(f"{pack} is enabled in {file.path}.")
    learn(file.path, plugin.packs)


def _is_mounted(name: str, config: Path | None) -> bool:
    return bool({"command", "url"} & SettingsFile.chosen(config).packs.get(name, {}).keys())


def _remove_mounted(name: str, yes: bool, config: Path | None) -> None:
    file = SettingsFile.chosen(config)
    _agree(f"[packs.{name}] goes from {file.path}", (), yes)

    def drop(document: TOMLDocument) -> None:
        del document["packs"][name]

    file.edit(drop)
    print(f"{name} is gone from {file.path}.")


def _settings(config: Path | None) -> Path | None:
    """The settings file to change; None where there is none yet, an error where it is not read."""
    choice = choose(config)
    if choice.path is None and choice.notice:
        raise SettingsError(choice.notice)
    if choice.path is not None:
        load(choice.path)  # a file with mistakes is told before anything is installed
    return choice.path


def _agree(what: str, command: Sequence[str], yes: bool, question: str = "Go on?") -> None:
    """Show what will be run, and ask; `SettingsError` where nobody can be asked."""
    say(f"{what}\nby: {shlex.join(command)}" if command else what)
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError("nothing was changed: there is nobody to ask here; say --yes")
    if not typer.confirm(question, err=True):
        raise SettingsError("nothing was changed")


def _installed(
    who: Installer, command: Sequence[str], what: Wanted, before: dict[str, str]
) -> list[str]:
    """Install; the packs that came. Whatever else comes of it, what came is taken out again."""
    try:
        run(command)
        importlib.invalidate_caches()
        came = [name for name in versions() if name not in before]
        packs = _packs_of(set(came))
        if not packs:
            raise SettingsError(
                f"{what.distribution or what.requirement} offers no pack, and was taken out again"
            )
        offers = discover(packs)
        for pack in packs:
            if len(offers[pack]) > 1:
                names = " and ".join(sorted(offer.distribution for offer in offers[pack]))
                raise SettingsError(
                    f"{names} both offer a pack '{pack}', and what is new was taken out again"
                )
    except BaseException:
        importlib.invalidate_caches()
        came = [name for name in versions() if name not in before]
        if came:
            own = [normal(what.distribution)] if who.kind not in ("pip", "uv") else came
            run(who.uninstall(own))
        raise
    offering = {normal(offer.distribution) for found in offers.values() for offer in found}
    for distribution in offering & set(came):
        record.keep(distribution, [name for name in came if name != distribution])
    return packs


def _packs_of(distributions: set[str]) -> list[str]:
    return [
        pack
        for pack, offers in discover().items()
        if any(normal(offer.distribution) in distributions for offer in offers)
    ]


def _distribution(name: str) -> str:
    """The distribution of a pack, or the one of this name that offers packs."""
    found = discover()
    offers = {normal(offer.distribution) for one in found.values() for offer in one}
    if name in found:
        own = {normal(offer.distribution) for offer in found[name]}
        if len(own) > 1:
            raise SettingsError(f"say which: {' or '.join(sorted(own))} offers '{name}'")
        return own.pop()
    if normal(name) in offers:
        return normal(name)
    known = ", ".join(found) or "none"
    raise SettingsError(f"no pack '{name}' is installed; installed are: {known}")


def _enable(packs: Sequence[str], path: Path | None, config: Path | None) -> None:
    if path is None:
        init(list(packs), config=config)
        return
    for pack in packs:
        set_enabled(path, pack, True)
        print(f"{pack} is enabled in {path}.")
