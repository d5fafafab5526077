"""What a server lists, as what the worker declares: names and schemas as clients take them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Greeting, Mount
from .schemas import input_schema, output_schema

NAME_LENGTH = 64
LARGEST = 256 * 1024
"""Bytes of one entry; a larger one is withheld."""
INSTRUCTIONS = 500
OF_THE_HOST = "host://"
"""How the URIs of the host's own resources begin, also of a host that is mounted."""
ASKING = ["question"]
"""Any call may ask: the server does not say beforehand which does."""
HINTS = frozenset(("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"))
"""The annotations of a tool that the protocol has; the host's lists hold no other."""
REFERENCE, NO_REFERENCE = "{tool:", "{tool :"
"""How a text begins to name a tool of the host, and how it does not."""
_VARIABLE = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")

Entry = dict[str, Any]


@dataclass
class Shaped:
    """What the worker declares of a server's lists.

    `names` leads from the kind and the name that the host knows to the server's own; `notes` say
    what was repaired or withheld.
    """

    declared: dict[str, Any]
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"declared": self.declared, "names": self.names, "notes": self.notes}


def shape(lists: Mapping[str, list[Entry]], greeting: Greeting, mount: Mount) -> Shaped:
    """Return what is declared of a server with these lists."""
    shaping = _Shaping(greeting, mount)
    declared = {
        "module": str(greeting.info.get("name", ""))[:200],
        "distribution": str(greeting.info.get("name", ""))[:200],
        "version": str(greeting.info.get("version", ""))[:100],
        "tools": shaping.each("tool", lists.get("tools", ()), shaping.tool),
        "prompts": shaping.each("prompt", lists.get("prompts", ()), shaping.prompt),
        "resources": [
            *shaping.each("resource", lists.get("resources", ()), shaping.resource),
            *shaping.each("template", lists.get("resourceTemplates", ()), shaping.template),
        ],
        "instructions": _cut(greeting.instructions) if mount.keys.get("instructions") else "",
        "acts_as_server_user": True,
        "checks": 1,
        "needs": {
            "reads_environment": [],
            "sessions": "apart" if mount.is_apart else None,
        },
    }
    return Shaped(declared, shaping.names, shaping.notes)


class _Shaping:
    """Makes entries, one after the other; what cannot be passed on is noted."""

    def __init__(self, greeting: Greeting, mount: Mount) -> None:
        self.names: dict[str, dict[str, str]] = {"tool": {}, "prompt": {}}
        self.notes: list[str] = []
        self._mount = mount
        self._completes = "completions" in greeting.capabilities
        self._shapes: set[str] = set()

    def each(
        self, kind: str, entries: Any, make: Callable[[Entry], Entry | None]
    ) -> list[dict[str, Any]]:
        """Return what is made of the entries of a list, without those that cannot be shown."""
        made = []
        for entry in entries:
            one = make(entry) if isinstance(entry, dict) else None
            name = str((entry if isinstance(entry, dict) else {}).get("name", ""))[:80]
            if one is None:
                self.notes.append(
                    f"the {kind} {name!r} is withheld: its name or URI is none of its own"
                )
            elif len(json.dumps(one)) > LARGEST:
                self.notes.append(f"the {kind} {name!r} is withheld: it is larger than 256 KiB")
            else:
                made.append(one)
                if REFERENCE in json.dumps(entry):
                    said = f"'{REFERENCE}' in its texts is written '{NO_REFERENCE}'"
                    self.notes.append(f"the {kind} {name}: {said}")
        return made

    def tool(self, entry: Entry) -> Entry | None:
        name = self._name("tool", entry)
        if name is None:
            return None
        schema, repaired = input_schema(entry.get("inputSchema"))
        output, left_out = output_schema(entry.get("outputSchema"))
        self.notes += [f"the tool {name}: {said}" for said in (repaired, left_out) if said]
        wire = {k: v for k, v in entry.items() if k not in ("name", "outputSchema", "execution")}
        wire["inputSchema"] = schema
        if output is not None:
            wire["outputSchema"] = output
        hints = entry.get("annotations")  # the host goes by them once somebody has agreed to them
        hints = hints if isinstance(hints, dict) else {}
        if hints.keys() - HINTS:
            hints = wire["annotations"] = {k: v for k, v in hints.items() if k in HINTS}
        return {
            "name": name,
            "wire": _without_references(wire),
            "asking": ASKING,
            "schema": schema,
            "read_only": hints.get("readOnlyHint") is True,
            "idempotent": hints.get("idempotentHint") is True,
        }

    def prompt(self, entry: Entry) -> Entry | None:
        name = self._name("prompt", entry)
        if name is None:
            return None
        given = entry.get("arguments")
        named = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        names = [str(one.get("name", "")) for one in named]
        required = [str(one["name"]) for one in named if one.get("required") is True]
        wire = {key: value for key, value in entry.items() if key != "name"}
        return {
            "name": name,
            "wire": _without_references(wire),
            "asking": ASKING,
            "schema": {
                "type": "object",
                "properties": {each: {"type": "string"} for each in names},
                "required": required,
            },
            "proposing": names if self._completes else [],
        }

    def resource(self, entry: Entry) -> Entry | None:
        uri = entry.get("uri")
        return None if not isinstance(uri, str) else self._at(uri, entry, [])

    def template(self, entry: Entry) -> Entry | None:
        uri = entry.get("uriTemplate")
        if not isinstance(uri, str):
            return None
        matched, variables = _as_ours(uri)
        return self._at(matched, entry, variables)

    def _at(self, uri: str, entry: Entry, variables: list[str]) -> Entry | None:
        shape = re.sub(r"\{(\+?)\w+\}", r"{\1}", uri)
        if shape in self._shapes or not uri or uri.startswith(OF_THE_HOST):
            return None
        self._shapes.add(shape)
        return {
            "name": str(entry.get("name") or uri)[:200],
            "uri": uri,
            "wire": _without_references(entry),
            "asking": ASKING,
            "proposing": variables if self._completes else [],
        }

    def _name(self, kind: str, entry: Entry) -> str | None:
        """Return the name for the host; None where the server has used it before."""
        own = entry.get("name")
        if not isinstance(own, str) or not own:
            return None
        name = re.sub(r"[^A-Za-z0-9_-]", "_", own)
        most = NAME_LENGTH - len(self._mount.prefix) - 1
        if len(name) > most:
            name = f"{name[: most - 7]}_{hashlib.sha256(own.encode()).hexdigest()[:6]}"
        if name in self.names[kind]:
            return None
        if name != own:
            self.notes.append(f"the {kind} {own!r} is called {name} here, as clients take it")
        self.names[kind][name] = own
        return name


def _as_ours(template: str) -> tuple[str, list[str]]:
    """Return a template of URIs as the host matches them, with `{x}` and `{+x}` alone."""
    variables: list[str] = []

    def made(found: re.Match[str]) -> str:
        kind, words = found[1], found[2].split(",")
        names = [re.sub(r"\W", "_", word.split(":")[0].rstrip("*")) for word in words]
        variables.extend(names)
        several = (kind in "+#" and kind != "") or words[-1].endswith("*")
        ours = ["{+" + each + "}" if several else "{" + each + "}" for each in names]
        if kind in ("?", "&", ";"):
            pairs = [f"{word.rstrip('*')}={one}" for word, one in zip(words, ours, strict=True)]
            return kind + ("&" if kind != ";" else ";").join(pairs)
        between = {"/": "/", ".": "."}.get(kind, ",")
        first = kind if kind in ("/", ".", "#") else ""
        return first + between.join(ours)

    return _VARIABLE.sub(made, template), variables


def _without_references(value: Any) -> Any:
    """Return data without `{tool:x}`, which the host would take for a name of its own."""
    if isinstance(value, str):
        return value.replace(REFERENCE, NO_REFERENCE)
    if isinstance(value, list):
        return [_without_references(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_references(item) for key, item in value.items()}
    return value


def _cut(words: str) -> str:
    return words if len(words) <= INSTRUCTIONS else words[: INSTRUCTIONS - 1] + "…"
