"""What a server serves, loaded: the settings, the packs, and what serving needs of the SDK.

It is imported once the first answers need it, so it imports at its top what it needs.
"""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Callable

from ..declarations.context import Caller
from ..packs.importing import take_turns
from ..packs.inventory import Inventory
from ..settings.borrowed import spare_plugin_search
from ..settings.loading import Settings
from ..startup.catalogue import Catalogue
from ..startup.protocol import LISTS
from . import logs, prints
from .serving import Serving
from .transports.transport import Transport

LOADING = 10.0
"""Seconds of loading after which the stacks of all threads are written, should nothing else be."""


class Loaded:
    """The packs that a start has loaded; it `began` to at this time of `time.time()`."""

    def __init__(self, what: Serving, inventory: Inventory, version: str, began: float) -> None:
        self.inventory = inventory
        self.version = version
        self.began = began
        self._what = what

    @property
    def settings(self) -> Settings:
        """The settings that the packs were loaded with."""
        return self.inventory.settings

    @property
    def must_stay(self) -> bool:
        """Whether a pack must open, even where the client has left."""
        return any(pack.table.required for pack in self.inventory.packs.values())

    def catalogue(self) -> Catalogue:
        """Return what the packs show now."""
        inventory = self.inventory
        pages = {str(name): inventory.lists.page(name, None, Caller()) for name in LISTS.values()}
        return Catalogue(
            self._what.name,
            self.version,
            self._what.title,
            inventory.instructions,
            pages,
            inventory.may_change,
            inventory.extensions,
        )


def load(what: Serving, read_settings: Callable[[], Settings], transport: Transport) -> Loaded:
    """Read the settings and load the packs."""
    spare_plugin_search()
    began = time.time()
    version = what.version()
    settings = read_settings()
    logs.configure(settings.host.log_level, settings.host.log_format, settings.secrets)
    logs.keep_ours()
    prints.mask(settings.secrets)
    faulthandler.dump_traceback_later(LOADING, file=logs.descriptor())
    exposed = transport.is_exposed(settings)
    take_turns()
    inventory = Inventory(
        settings, alone=what.alone, exposed=exposed, offers=what.offers, is_recorded=True
    )
    inventory.load()
    if not inventory.is_loading:
        faulthandler.cancel_dump_traceback_later()
    return Loaded(what, inventory, version, began)
