"""What clients usually tell of themselves: what the SDK surely takes, known without the SDK.

The first answers and the lane look at it; what is unusual is left to the SDK.
"""

from __future__ import annotations

from .protocol import META, MODERN_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ENVELOPE = {META + "protocolVersion", META + "clientCapabilities", META + "clientInfo"}
"""The keys that `_meta` of a 2026-07-28 request has, the last of them where the client wants."""
_PLAIN_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "elicitation": ("form", "url"),
    "sampling": ("context", "tools"),
    "roots": (),
}
_INFO = {"name", "version", "title", "description", "websiteUrl"}
_FREE_CAPABILITIES = ("experimental", "extensions")


def is_usual_envelope(meta: Any) -> bool:
    """Whether this is the envelope of a 2026-07-28 request, and nothing else."""
    return (
        isinstance(meta, dict)
        and set(meta) <= ENVELOPE
        and meta.get(META + "protocolVersion") == MODERN_VERSION
        and are_usual_capabilities(meta.get(META + "clientCapabilities"))
        and (META + "clientInfo" not in meta or is_usual_info(meta[META + "clientInfo"]))
    )


def are_usual_capabilities(given: Any) -> bool:
    """Whether these are capabilities that the SDK surely accepts."""
    if not isinstance(given, dict):
        return False
    for name, value in given.items():
        if name in _FREE_CAPABILITIES:
            if not (isinstance(value, dict) and all(map(_is_flat, value.values()))):
                return False
            continue
        if name not in _PLAIN_CAPABILITIES or not isinstance(value, dict):
            return False
        if name == "roots":
            if not (
                set(value) <= {"listChanged"} and all(isinstance(v, bool) for v in value.values())
            ):
                return False
        elif not all(key in _PLAIN_CAPABILITIES[name] and v == {} for key, v in value.items()):
            return False
    return True


def offered(capabilities: Mapping[str, Any]) -> frozenset[str]:
    """Return what a client can be asked and told, by the names of its usual capabilities.

    `elicitation` stands for forms, which a client has that names no mode; `elicitation.url` for
    pages to visit.
    """
    names = set(capabilities)
    modes = capabilities.get("elicitation")
    if modes:
        if "form" not in modes:
            names.discard("elicitation")
        if "url" in modes:
            names.add("elicitation.url")
    return frozenset(names)


def extensions(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the protocol extensions that a client has, with its settings of each."""
    given = capabilities.get("extensions")
    return given if isinstance(given, dict) else {}


def _is_flat(given: Any) -> bool:
    """Whether this is a table of what cannot be refused: switches, words and lists of words."""
    return isinstance(given, dict) and all(
        isinstance(value, bool | str)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
        for value in given.values()
    )


def is_usual_info(given: Any) -> bool:
    """Whether this is a client's name and version, and at most texts about it."""
    return (
        isinstance(given, dict)
        and {"name", "version"} <= set(given) <= _INFO
        and all(isinstance(value, str) for value in given.values())
    )
