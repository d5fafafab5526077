"""What is wrong in a settings file: one finding as `key: what is wrong`, and what is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..errors import nearest
from .keys import Keys, dotted
from .tables import FileTables
from .workers import keys_beside_workers

EXTRAS = {"command": "mount", "url": "mount", "server": "mount"}
"""Keys of [packs.X] that distributions beside the host know, each with the extra that brings it."""

ELSEWHERE = {"args": 'arguments stand in command, as in command = ["npx", "-y", "…"]'}
"""Keys that clients' files have and [packs.X] has not, each with what to write."""

WORDS = {"path_type": "a path must be a string"}
"""What is said in place of pydantic's words, by the type of the error."""


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """pydantic's first finding as `key: what is wrong`, with the nearest known key."""
    items = error.errors(include_url=False, include_input=False, include_context=False)
    # A misspelt key is also a missing one: the name that is there explains both.
    unknown = [item for item in items if item["type"] == "extra_forbidden"]
    # One that another distribution would know explains those that go with it.
    brought = (item for item in unknown if _extra(model, item["loc"]))
    item = next(brought, (unknown or items)[0])
    where = dotted(tuple(part for part in item["loc"] if part != "[key]"))
    more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
    if item["type"] != "extra_forbidden":
        said = WORDS.get(item["type"], item["msg"].removeprefix("Value error, "))
        return f"{where or 'settings'}: {said}{more}"
    if extra := _extra(model, item["loc"]):
        return f'{where}: this needs what is not installed: pip install "mcp-host[{extra}]"{more}'
    known = _known_keys(model, item["loc"][:-1])
    if _is_of_pack(model, item["loc"]):
        problem = _unknown_of_pack(str(item["loc"][1]), str(item["loc"][2]), known)
    else:
        problem = unknown_key(str(item["loc"][-1]), known)
    return f"{where}: {problem}{more}"


def _is_of_pack(model: type[BaseModel], keys: Keys) -> bool:
    """Whether this is the place of a key of [packs.X]."""
    return model is FileTables and len(keys) == 3 and keys[0] == "packs"


def _unknown_of_pack(pack: str, key: str, known: Sequence[str]) -> str:
    """What to say of a key of [packs.X] that nothing knows there."""
    beside = keys_beside_workers()
    if key in beside:
        return f"{key} must stand beside one of {', '.join(EXTRAS)}"
    if key in ELSEWHERE:
        return f"unknown key; {ELSEWHERE[key]}"
    every = [*known, *(each for each in (*EXTRAS, *beside) if each not in known)]
    problem = unknown_key(key, every)
    if "did you mean" in problem:
        return problem
    return f"{problem}; the pack's own settings stand in [packs.{pack}.settings]"


def _extra(model: type[BaseModel], keys: Keys) -> str | None:
    """The extra that would bring a key of the file."""
    return EXTRAS.get(str(keys[2])) if _is_of_pack(model, keys) else None


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What to say of a key that nothing knows."""
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else f"known are {', '.join(known)}"
    return f"unknown key; {hint}"


def _known_keys(model: type[BaseModel], keys: Keys) -> list[str]:
    """The keys that may stand at a place of a file that this model checks."""
    here: Any = model
    for key in keys:
        if isinstance(here, type) and issubclass(here, BaseModel) and key in here.model_fields:
            here = here.model_fields[str(key)].annotation
        elif get_origin(here) in (dict, list):
            here = get_args(here)[-1]
        arms = [arm for arm in get_args(here) if isinstance(arm, type)]
        if get_origin(here) not in (dict, list) and arms:
            here = next((arm for arm in arms if issubclass(arm, BaseModel)), here)
    if isinstance(here, type) and issubclass(here, BaseModel):
        return [info.alias or name for name, info in here.model_fields.items()]
    return []
