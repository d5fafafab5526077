"""What is known here of pydantic beyond the interface that it promises to keep.

`tests/core/settings/test_borrowed.py` has a test for each name, so that a new version of pydantic
that changes one fails there first.
"""

from __future__ import annotations

import sys
from types import ModuleType

from ..startup.installed import entry_points, finder

LOADER = "pydantic.plugin._loader"
"""The module in which pydantic looks for plugins when it makes the first check."""
GROUP = "pydantic"
"""The entry points by which distributions offer pydantic plugins."""


def spare_plugin_search() -> None:
    """Tell pydantic that it has no plugins, where no installed distribution offers one.

    To find that out by itself takes it 17 ms, a twelfth of the time to a first list without a saved
    catalogue: it imports `importlib.metadata` and reads what all distributions say of themselves.
    Where there is a plugin, pydantic finds and loads it as always.
    """
    if LOADER in sys.modules:
        return
    try:
        if any(entry_points(each, GROUP) for each in finder().distributions()):
            return
    except (OSError, ValueError):  # a damaged distribution is pydantic's to pass over
        return
    loader = ModuleType(LOADER, "Says that there are no plugins.")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules[LOADER] = loader
