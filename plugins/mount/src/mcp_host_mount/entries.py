"""What a server lists, as what the worker declares: names and schemas as clients take them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Greeting, Mount
from .naming import named
from .schemas import input_schema, output_schema

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
        "tools": shaping.named("tool", lists.get("tools", ()), shaping.tool),
        "prompts": shaping.named("prompt", lists.get("prompts", ()), shaping.prompt),
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


class _Withheld(Exception):
    """An entry cannot be shown; the text says why."""


class _Shaping:
    """Makes entries, one after the other; what cannot be passed on is noted."""

    def __init__(self, greeting: Greeting, mount: Mount) -> None:
        self.names: dict[str, dict[str, str]] = {"tool": {}, "prompt": {}}
        self.notes: list[str] = []
        self._mount = mount
        self._completes = "completions" in greeting.capabilities
        self._shapes: set[str] = set()
        self._named: dict[str, str] = {}

    def named(
        self, kind: str, entries: Any, make: Callable[[Entry], Entry]
    ) -> list[dict[str, Any]]:
        """Return what is made of a list whose entries go by a name; as `each`."""
        own = [one.get("name") for one in entries if isinstance(one, dict)]
        self._named = named([each for each in own if isinstance(each, str)], self._mount.prefix)
        return self.each(kind, entries, make)

    def each(self, kind: str, entries: Any, make: Callable[[Entry], Entry]) -> list[dict[str, Any]]:
        """Return what is made of the entries of a list, without those that cannot be shown."""
        made = []
        for entry in entries:
            entry = entry if isinstance(entry, dict) else {}
            name = str(entry.get("name", ""))[:80]
            try:
                one = make(entry)
                if len(json.dumps(one)) > LARGEST:
                    raise _Withheld("it is larger than 256 KiB")
            except _Withheld as why:
                self.notes.append(f"the {kind} {name!r} is withheld: {why}")
                continue
            made.append(one)
            if REFERENCE in json.dumps(entry):
                said = f"'{REFERENCE}' in its texts is written '{NO_REFERENCE}'"
                self.notes.append(f"the {kind} {name}: {said}")
        return made

    def tool(self, entry: Entry) -> Entry:
        name = self._name("tool", entry)
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

    def prompt(self, entry: Entry) -> Entry:
        name = self._name("prompt", entry)
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

    def resource(self, entry: Entry) -> Entry:
        return self._at(_uri(entry, "uri"), entry, [])

    def template(self, entry: Entry) -> Entry:
        matched, variables = _as_ours(_uri(entry, "uriTemplate"))
        return self._at(matched, entry, variables)

    def _at(self, uri: str, entry: Entry, variables: list[str]) -> Entry:
        shape = re.sub(r"\{(\+?)\w+\}", r"{\1}", uri)
        if uri.startswith(OF_THE_HOST):
            raise _Withheld(f"{uri} is the host's own")
        if shape in self._shapes:
            raise _Withheld(f"another one matches {uri} as well")
        self._shapes.add(shape)
        return {
            "name": str(entry.get("name") or uri)[:200],
            "uri": uri,
            "wire": _without_references(entry),
            "asking": ASKING,
            "proposing": variables if self._completes else [],
        }

    def _name(self, kind: str, entry: Entry) -> str:
        """Return the name for the host, which this list has not had before."""
        own = entry.get("name")
        if not isinstance(own, str) or not own:
            raise _Withheld("it has no name")
        name = self._named[own]
        if name in self.names[kind]:
            raise _Withheld(f"it is the second {kind} of this name")
        if name != own:
            self.notes.append(f"the {kind} {own!r} is called {name} here, as clients take it")
        self.names[kind][name] = own
        return name


def _uri(entry: Entry, key: str) -> str:
    uri = entry.get(key)
    if not isinstance(uri, str) or not uri:
        raise _Withheld("it has no URI")
    return uri


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
