"""The beginning of a pack's own process: it imports the pack and says what that declares."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..packs.apart import with_dates
from ..packs.declared import Declared, LoadError, Offer
from ..packs.declaring import declare
from ..packs.discovery import discover, normalized
from ..packs.hooks import Hooks
from ..packs.told import tell
from ..settings.loading import Settings
from ..settings.tables import HostTable, PackTable
from . import bounds
from .messages import VERSION
from .outlet import Outlet, ToHost


def declared(request: Mapping[str, Any], outlet: Outlet) -> Declared:
    """Import the pack of a request and tell the host what it declares; return that.

    Where that cannot be, say why and end the process.
    """
    root = logging.getLogger()
    root.handlers[:] = [ToHost(outlet)]
    root.setLevel(logging.WARNING)
    logging.getLogger("mcp_host").setLevel(request["log_level"].upper())
    try:
        found = _declare(request, outlet)
        told = tell(found)
    except LoadError as error:
        why = error.condition
        _refuse(outlet, why.code, why.reason, why.remedy)
    except BaseException as error:
        logging.getLogger("mcp_host.packs").warning("a pack could not be loaded", exc_info=error)
        reason = f"{type(error).__name__}: {bounds.text(error)}"
        _refuse(outlet, "load_failed", reason, "the log of `mcp-host serve` has the traceback")
    outlet.write_lines()
    outlet.send({"border": VERSION, "declared": told})
    return found


def _declare(request: Mapping[str, Any], outlet: Outlet) -> Declared:
    name = request["declare"]
    offer = Offer(*request["offer"]) if request["offer"] else _installed(name, request["table"])
    table = PackTable.model_validate(request["table"])
    table = table.model_copy(update={"settings": with_dates(request["settings"])})
    problem = request["problem"]
    settings = Settings(
        host=HostTable(root=None if request["root"] is None else Path(request["root"])),
        packs={name: table},
        source=None if request["source"] is None else Path(request["source"]),
        problems={} if problem is None else {name: problem},
    )
    return declare(offer, settings, Hooks(), lambda step: outlet.send({"step": step}))


def _refuse(outlet: Outlet, code: str, reason: str, remedy: str) -> NoReturn:
    outlet.write_lines()
    words = [bounds.cut(code), bounds.text(reason), bounds.text(remedy)]
    outlet.send({"border": VERSION, "refused": words})
    os._exit(0)


def _installed(name: str, table: Mapping[str, Any]) -> Offer:
    """Find a pack in this environment; `LoadError` where it is not there, or more than once."""
    found = {offer.distribution: offer for offer in discover([name]).get(name, ())}
    wanted = table.get("distribution")
    if wanted:
        found = {n: offer for n, offer in found.items() if normalized(n) == normalized(wanted)}
    if not found:
        raise LoadError(
            "not_installed",
            f"no distribution in the environment of {sys.executable} offers a pack '{name}'",
            f"install it there: {sys.executable} -m pip install …",
        )
    if len(found) > 1:
        raise LoadError(
            "ambiguous",
            f"{' and '.join(sorted(found))} both offer a pack '{name}'",
            f'choose one: distribution = "{min(found)}" in [packs.{name}]',
        )
    return next(iter(found.values()))
