"""Loads what settings that were read again change, beside what is served, and tries it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..settings.loading import Settings
from ..settings.pack_settings import about_project
from ..settings.tables import PackTable
from .catalog import Catalog
from .conditions import Condition
from .declared import Declared, LoadError, Outcome
from .inventory import Inventory, lock_of
from .naming import Naming
from .pack import Pack
from .renewal import OF_SEARCH, OF_THE_HOST, ReloadError, Renewal, kept_keys
from .single_file import is_as_offered


def prepare(inventory: Inventory, new: Settings, anew: Collection[str] = ()) -> Renewal:
    """Load what new settings change, and the packs `anew`, beside what is served; in any thread.

    `ReloadError` where a pack that is served, or must be, could not be served with them.
    """
    old = inventory.settings
    new, after_restart = kept_keys(old, new)
    loaded, relisted = [], {}
    for name, table in new.packs.items():
        pack = inventory.packs.get(name)
        if not table.enabled:
            continue
        if (
            name in anew
            or pack is None
            or pack.declared is None
            or not _is_same_pack(pack, old, new)
        ):
            loaded.append(name)
        elif table != pack.table or old.locked.get(name) != new.locked.get(name):
            relisted[name] = replace(pack.whole or pack.declared, table=table)
    outcomes = inventory.load_again(new, loaded) if loaded else {}
    gone = tuple(
        name
        for name in old.packs
        if name not in new.packs or (old.packs[name].enabled and not new.packs[name].enabled)
    )
    searches_anew = any(getattr(old.host, key) != getattr(new.host, key) for key in OF_SEARCH)
    renewal = Renewal(new, outcomes, relisted, gone, searches_anew, after_restart)
    try:
        return replace(renewal, loaded=_tried(inventory, renewal))
    except ReloadError:
        discard(renewal)
        raise


def discard(renewal: Renewal) -> None:
    """Give up what was loaded."""
    for outcome in renewal.loaded.values():
        if isinstance(outcome, Declared):
            outcome.discard()


def _is_same_pack(pack: Pack, old: Settings, new: Settings) -> bool:
    """Whether a pack that is served can stay open under new settings."""
    name, declared = pack.name, pack.declared
    before, after = old.packs.get(name), new.packs[name]
    assert declared is not None
    if before is None or old.is_apart(name) != new.is_apart(name):
        return False
    if old.problems.get(name) != new.problems.get(name) or _worker(old, name) != _worker(new, name):
        return False
    if declared.needs.changes_lists and old.locked.get(name) != new.locked.get(name):
        return False  # what it has offered is looked at when it is offered
    if declared.offer.file and not is_as_offered(declared.offer):
        return False
    if old.host.root != new.host.root and _has_project(declared.settings_model):
        return False
    if before == after:
        return True
    if declared.needs.changes_lists or _names(before) != _names(after):
        return False  # the pack goes by what these say
    keys = (key for key in PackTable.model_fields if key not in OF_THE_HOST)
    return all(getattr(before, key) == getattr(after, key) for key in keys)


def _worker(settings: Settings, name: str) -> tuple[str, Any] | None:
    worker = settings.workers.get(name)
    return None if worker is None else (worker.key, worker.given)


def _names(table: PackTable) -> dict[str, str | None]:
    return {name: tool.name for name, tool in table.tools.items() if tool.name}


def _has_project(model: Any) -> bool:
    """Whether a pack works in the project's folder; of one in another process it is assumed."""
    return model is not None and (not isinstance(model, type) or about_project(model))


def _tried(inventory: Inventory, renewal: Renewal) -> dict[str, Outcome]:
    """List everything as it would be; what cannot be served with the rest has failed."""
    settings, prefixed = renewal.settings, inventory.alone is None
    catalog = Catalog(settings.secrets, lock_of(settings))
    outcomes = dict(renewal.loaded)
    served = {n: p.declared for n, p in inventory.packs.items() if p.declared is not None}
    stay = {n: d for n, d in served.items() if n in settings.packs and n not in renewal.gone}
    for name in sorted(stay.keys() | outcomes.keys(), key=lambda name: name in outcomes):
        outcome = outcomes.get(name) or renewal.relisted.get(name) or stay[name]
        try:
            if isinstance(outcome, Condition):
                raise LoadError(outcome.code, outcome.reason, outcome.remedy)
            inventory.check_exposed(outcome)
            Naming(outcome, prefixed).resolve(outcome.instructions)
            catalog.add(outcome, prefixed=prefixed)
        except LoadError as error:
            if name in stay or settings.packs[name].required:
                raise ReloadError(_sentence(name, error.condition)) from None
            if isinstance(outcome, Declared):
                outcome.discard()
            outcomes[name] = error.condition
    return outcomes


def _sentence(name: str, why: Condition) -> str:
    remedy = f" ({why.remedy})" if why.remedy else ""
    return f"pack {name} could not be served as it is now: {why.reason}{remedy}"
