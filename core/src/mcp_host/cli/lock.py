"""`mcp-host lock`: write down what packs list, so that nothing else is served."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import SettingsError
from ..packs.difference import differences
from ..settings.lock_place import lock_file
from ..settings.locked import LockedPack
from .common import ConfigOption, JsonOption, Output, chosen_settings, quiet_logs
from .completion import installed_packs
from .learning import learned, write


def lock(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="The packs; all that are enabled, unless told.",
            show_default=False,
            autocompletion=installed_packs,
        ),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Lock these packs no more, in place of locking them.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lock packs: what changes in their lists, or comes new, is withheld until it is approved.

    What each pack lists now is written to the lock file beside the settings. A pack that is locked
    already stays as it was agreed to.
    """
    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "critical")
    if settings.source is None:
        raise SettingsError("there is no settings file to lock packs of; see: mcp-host init")
    locked = dict(settings.locked)
    if remove:
        _remove(names or list(locked), locked)
        path = write(settings, locked)
        output.json({"lock": str(path), "packs": sorted(locked)}) if as_json else output.text(
            f"{path}: locked are {', '.join(sorted(locked)) or 'no packs'}."
        )
        return
    wanted = names or [name for name, table in settings.packs.items() if table.enabled]
    found = learned(settings, wanted)
    other = [name for name in found if name in locked and differences(locked[name], found[name])]
    fresh = [name for name in found if name not in locked]
    if fresh:
        write(settings, {**locked, **{name: found[name] for name in fresh}})
    if as_json:
        path = lock_file(settings.source)
        told = {"lock": str(path), "packs": sorted({*locked, *fresh})}
        output.json({**told, "locked": fresh, "differ": other})
    for name in found if not as_json else ():
        if name in other:
            said = f"is not as it was locked; see what, and agree: mcp-host approve {name}"
        else:
            count = len(found[name].entries)
            how = "is locked" if name in fresh else "is as it was locked"
            said = f"{how}, with {count} {'entry' if count == 1 else 'entries'}."
        output.text(f"{name} {said}")
    if not found and not as_json:
        output.text("no packs are enabled")
    raise typer.Exit(1 if other else 0)


def _remove(names: list[str], locked: dict[str, LockedPack]) -> None:
    for name in names:
        if name not in locked:
            known = ", ".join(sorted(locked)) or "none"
            raise SettingsError(f"the pack '{name}' is not locked; locked are: {known}")
        del locked[name]
