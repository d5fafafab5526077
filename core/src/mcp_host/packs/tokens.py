"""What lists and answers cost a model, in tokens."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..declarations.context import Caller
from .access import allows
from .entry import LISTS, Entry, What
from .lists import Lists
from .usage import Usage

ENCODING = "o200k_base"
"""The encoding that is counted by: OpenAI's newest public one; those of others differ by little."""
BYTES_EACH = 4
"""Bytes of UTF-8 that make up a token where none are counted; the lists of our packs have 4.17."""
EXTRA = "tokens"


class Counter(NamedTuple):
    """How many tokens a text is, and by what that is known."""

    count: Callable[[str], int]
    by: str


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


def usage(packs: Iterable[str], lists: Lists, given: Usage, caller: Caller) -> dict[str, Any]:
    """Return what a caller's model has been `given`, as plain data; in any thread.

    The caller's ten costliest answers, the dearest first, and what the lists cost that it sees.
    Answers are not kept, so their tokens are estimated from their length.
    """
    tokens = counter()
    cost = {
        name: {
            what: sum(tokens.count(as_sent(entry.listed)) for entry in entries)
            for what in LISTS
            if (entries := _of(lists, name, what, caller))
        }
        for name in packs
    }
    return {
        "answers": [
            {**about, "tokens": -(-about["bytes"] // BYTES_EACH)}
            for about in given.of(caller.identity)
        ],
        "lists": {
            name: {**each, "tokens": sum(each.values())} for name, each in cost.items() if each
        },
        "by": tokens.by,
    }


def _of(lists: Lists, pack: str, what: What, caller: Caller) -> list[Entry]:
    """Return the entries of one pack that one list shows to a caller."""
    entries = lists.as_now(what)
    return [entry for entry in entries if entry.pack == pack and allows(entry, caller)]


def _estimated(text: str) -> int:
    return -(-len(text.encode()) // BYTES_EACH)


def as_sent(listed: Mapping[str, Any]) -> str:
    """Return an entry of a list as a client gets it."""
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"), default=str)
