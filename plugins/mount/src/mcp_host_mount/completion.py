"""Values of an argument that a server proposes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .links import Message
from .lists import Lists
from .server import Server


def propose(
    server: Server,
    lists: Lists,
    wanted: Mapping[str, Any],
    reply: Callable[[Mapping[str, Any]], None],
) -> None:
    """Ask a server for the values that the host wants; `reply` hears them."""
    given = {
        "ref": _reference(lists, wanted["kind"], wanted["key"]),
        "argument": {"name": wanted["argument"], "value": wanted["value"]},
        "context": {"arguments": wanted.get("given") or {}},
    }

    def replied(message: Message) -> None:
        result = message.get("result")
        completion = result.get("completion") if isinstance(result, dict) else None
        values = completion.get("values") if isinstance(completion, dict) else None
        proposed = [str(value) for value in values or ()][: wanted["limit"]]
        total = completion.get("total") if isinstance(completion, dict) else None
        reply({"proposed": proposed, "total": total if isinstance(total, int) else len(proposed)})

    server.peer.request("completion/complete", server.params(given, {}), replied)


def _reference(lists: Lists, kind: str, key: str) -> dict[str, str]:
    """Return what completion is of: a template as the server writes it, or a prompt by its name."""
    if kind != "resource":
        return {"type": "ref/prompt", "name": lists.names.own(kind, key)}
    for one in lists.shaped.declared["resources"]:
        if one["uri"] == key:
            return {"type": "ref/resource", "uri": one["wire"].get("uriTemplate", key)}
    return {"type": "ref/resource", "uri": key}
