"""What was loaded, saved for the next start."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ..errors import SettingsError
from ..settings.loading import read
from ..startup import saved
from ..startup.saved import Saved
from .loading import Loaded

if TYPE_CHECKING:
    from .serving import Serving


class Saving:
    """Saves what was loaded, from any thread; `_saved` is what the file has, kept by `_lock`.

    It `is_due` where a pack was still loading when it was to be saved.
    """

    def __init__(self, what: Serving, loaded: Loaded, found: Saved) -> None:
        self._what = what
        self._loaded = loaded
        self._saved = found
        self._lock = threading.Lock()
        self.is_due = False

    def save(self) -> None:
        """Save what the packs show now; not while one is still loading."""
        inventory, identity = self._loaded.inventory, self._what.identity
        if identity is None or not inventory.settings.host.catalogue:
            return
        self.is_due = inventory.is_loading
        if self.is_due:
            return
        from ..packs.dependencies import apart, dependencies, owners  # the lists do without

        with self._lock:
            now = self._loaded.catalogue()
            if inventory.settings.secrets.is_in(vars(now)):
                return  # a name or a URI was made of it: the file would give it away
            if now != self._saved.catalogue or not self._saved.is_good:
                depends = dependencies(inventory, self._what.variables)
                if saved.was_edited(depends, self._loaded.began, time.time()) or self._is_other():
                    return  # of which code this is the catalogue, the next start can tell
                saved.write(
                    identity,
                    now,
                    depends,
                    must_stay=self._loaded.must_stay,
                    is_warm=inventory.settings.host.warm,
                    sends=inventory.settings.host.telemetry,
                    apart=apart(inventory),
                    owners=owners(inventory),
                )
                self._saved = Saved(now, "")

    def _is_other(self) -> bool:
        """Whether the settings file does not say any more what is served."""
        settings = self._loaded.settings
        if settings.source is None or not settings.digest:
            return False
        try:
            read(settings.source, settings.digest)
        except SettingsError:
            return True
        return False
