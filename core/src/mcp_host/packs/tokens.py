"""What the lists cost a model before its first word, in tokens."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..declarations.context import Caller
from ..startup.dataclass import dataclass
from .access import allows
from .entry import LISTS, Entry, What
from .inventory import Inventory
from .naming import Naming

ENCODING = "o200k_base"
"""The encoding that is counted by: OpenAI's newest public one; those of others differ by little."""
BYTES_EACH = 4
"""Bytes of UTF-8 that make up a token where none are counted; the lists of our packs have 4.17."""
EXTRA = "tokens"


class Counter(NamedTuple):
    """How many tokens a text is, and by what that is known."""

    count: Callable[[str], int]
    by: str


@dataclass(frozen=True)
class Cost:
    """What one entry of a pack's lists costs; for its instructions, `kind` and `name` say so."""

    pack: str
    kind: str
    name: str
    tokens: int


def counter() -> Counter:
    """Return what counts exactly where the extra is installed, and what estimates elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library's own, as it is imported
        try:
            import bpe_openai  # type: ignore[import-untyped]  # the extra `tokens`
        except ImportError:
            return Counter(_estimated, f"estimated, one for {BYTES_EACH} bytes")
        encoding = bpe_openai.get_encoding(ENCODING)
    return Counter(lambda text: len(encoding.encode_ordinary(text)), f"counted as {ENCODING}")


def costs(inventory: Inventory, tokens: Counter) -> list[Cost]:
    """Return what every entry costs that a client sees, pack by pack."""
    found = []
    for name, pack in inventory.packs.items():
        declared = pack.declared
        if declared is None or not pack.condition.listed:
            continue
        if declared.instructions:
            naming = Naming(declared, inventory.alone is None)
            text = naming.resolve(declared.instructions)
            found.append(Cost(name, "instructions", "instructions", tokens.count(text)))
        for what in LISTS:
            found += [
                Cost(name, what, entry.listed["name"], tokens.count(_as_sent(entry.listed)))
                for entry in inventory.lists.entries(what)
                if entry.pack == name
            ]
    return found


def usage(inventory: Inventory, caller: Caller) -> dict[str, Any]:
    """Return what a caller's model has been given, as plain data; in any thread.

    The caller's ten costliest answers, the dearest first, and what the lists cost that it sees.
    Answers are not kept, so their tokens are estimated from their length.
    """
    tokens = counter()
    lists = {
        name: {
            what: sum(tokens.count(_as_sent(entry.listed)) for entry in entries)
            for what in LISTS
            if (entries := _of(inventory, name, what, caller))
        }
        for name in list(inventory.packs)
    }
    return {
        "answers": [
            {**about, "tokens": -(-about["bytes"] // BYTES_EACH)}
            for about in inventory.usage.of(caller.identity)
        ],
        "lists": {
            name: {**each, "tokens": sum(each.values())} for name, each in lists.items() if each
        },
        "by": tokens.by,
    }


def _of(inventory: Inventory, pack: str, what: What, caller: Caller) -> list[Entry]:
    """Return the entries of one pack that one list shows to a caller."""
    entries = inventory.lists.as_now(what)
    return [entry for entry in entries if entry.pack == pack and allows(entry, caller)]


def over_budget(inventory: Inventory) -> str:
    """Say that the lists cost more than the settings allow; empty where they do not."""
    budget = inventory.settings.host.token_budget
    if budget is None:
        return ""
    tokens = counter()
    spent = sum(cost.tokens for cost in costs(inventory, tokens))
    if spent <= budget:
        return ""
    return (
        f"the lists cost {spent:,} tokens ({tokens.by}), over the {budget:,} of [host] "
        "token_budget; `mcp-host tokens` says which pack costs what"
    )


def _estimated(text: str) -> int:
    return -(-len(text.encode()) // BYTES_EACH)


def _as_sent(listed: Mapping[str, Any]) -> str:
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"), default=str)
