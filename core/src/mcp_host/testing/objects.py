"""Packs that a test has at hand as objects, as the host wants them: by the name of a module."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ..declarations.contribution import Contribution
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..hookspecs import PROJECT, hookimpl
from ..packs.single_file import LISTS, contributions

PackSource: TypeAlias = str | Path | ModuleType | Contribution | Sequence[Contribution] | object
"""A plugin module by its name, a single file, or an object that is the pack."""
NAMELESS = "pack"


def name_of(source: PackSource) -> str:
    """What a pack is called that was given without a name."""
    if isinstance(source, Path):
        name = source.stem
    elif isinstance(source, str | ModuleType):
        module = source if isinstance(source, str) else source.__name__
        name = module.partition(":")[0].removesuffix(".plugin").rpartition(".")[2]
        name = name.removeprefix("mcp_host_")
    elif isinstance(source, Contribution | Sequence):
        name = NAMELESS
    else:
        kind = source if isinstance(source, type) else type(source)
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__)
    return re.sub(r"\W", "_", name).lower().strip("_")[:32] or NAMELESS


@contextmanager
def plugin_modules(
    packs: Mapping[str, PackSource], is_apart: Callable[[str], bool]
) -> Iterator[dict[str, str]]:
    """Give the plugin module of each pack; those of objects are there until the block ends."""
    found: dict[str, str] = {}
    made: list[str] = []
    try:
        for name, source in packs.items():
            if isinstance(source, str | Path):
                found[name] = str(source)
                continue
            if is_apart(name):
                raise TypeError(
                    f"the pack {name} must be named by its module to live in a process of its own: "
                    "an object cannot"
                )
            module = ModuleType(f"{PROJECT}_object_{len(sys.modules)}_{name}")
            module.plugin = _plugin(source)  # type: ignore[attr-defined]  # that is what it is for
            sys.modules[module.__name__] = module
            made.append(module.__name__)
            found[name] = f"{module.__name__}:plugin"
        yield found
    finally:
        for module_name in made:
            del sys.modules[module_name]


def _plugin(source: Any) -> object:
    """What answers the hooks for a pack that is given as an object."""
    if isinstance(source, Contribution):
        return _listing([source])
    if isinstance(source, Sequence):
        return _listing(source)
    if isinstance(source, type):
        return source()
    if isinstance(source, ModuleType):
        missing = {hook: kind for hook, kind in LISTS.items() if not hasattr(source, hook)}
        found = {hook: contributions(source, kind) for hook, kind in missing.items()}
        own = {hook: hookimpl(_answering(those)) for hook, those in found.items() if those}
        return _Plugin(**{**vars(source), **own})
    return source


def _listing(found: Sequence[Any]) -> object:
    """What answers with these; what is nothing of the kind, the host refuses as a tool."""
    others = [one for one in found if not isinstance(one, Resource | Prompt)]
    lists = {
        "mcp_host_tools": others,
        "mcp_host_resources": [one for one in found if isinstance(one, Resource)],
        "mcp_host_prompts": [one for one in found if isinstance(one, Prompt)],
    }
    return _Plugin(**{hook: hookimpl(_answering(those)) for hook, those in lists.items()})


class _Plugin:
    """Something that has hooks."""

    def __init__(self, **hooks: object) -> None:
        vars(self).update(hooks)


def _answering(found: Sequence[Any]) -> Callable[[], list[Any]]:
    return lambda: list(found)
