"""What the shell proposes for an argument: names that are known without opening a pack.

A proposal never fails and never prints: where nothing can be known, nothing is proposed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from typing import TYPE_CHECKING

from .common import chosen_settings, loaded, quiet_logs, saved_catalogue

if TYPE_CHECKING:
    from ..startup.protocol import What


def installed_packs(incomplete: str) -> list[str]:
    """The packs that are installed."""
    return beginning(incomplete, lambda: metadata.entry_points(group="mcp_host.packs").names)


def tools(incomplete: str) -> list[str]:
    """The tools that clients see."""
    return beginning(incomplete, lambda: _listed("tools", "name"))


def tools_and_packs(incomplete: str) -> list[str]:
    """The tools that clients see, and the packs that are installed."""
    return [*tools(incomplete), *installed_packs(incomplete)]


def prompts(incomplete: str) -> list[str]:
    """The prompts that clients see."""
    return beginning(incomplete, lambda: _listed("prompts", "name"))


def resources(incomplete: str) -> list[str]:
    """The URIs of the resources that clients see."""
    return beginning(incomplete, lambda: _listed("resources", "uri"))


def beginning(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    """Those names that begin as what was typed; none where they cannot be had."""
    found: list[str] = []
    with suppress(Exception, SystemExit), _silence():
        found = sorted(name for name in names() if name.startswith(incomplete))
    return found


def _listed(what: What, key: str) -> list[str]:
    """The names of one list: as clients were last shown it, else as the packs now have it."""
    saved = saved_catalogue(None).catalogue
    if saved is not None:
        return [item[key] for item in saved.pages[what][what]]
    from ..declarations.context import Caller

    settings = chosen_settings(None)
    quiet_logs(settings, "critical")
    return [item[key] for item in loaded(settings).lists.visible(what, Caller())]


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing that is printed here, by whatever way, reaches the shell."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        for number, _ in kept:
            os.dup2(nothing, number)
        yield
    finally:
        os.close(nothing)
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
