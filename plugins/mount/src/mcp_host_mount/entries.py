"""What a server lists, as what the worker declares: names and schemas as clients take them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .fitting import ANNOTATIONS, ARGUMENT, HINTS, PROMPT, RESOURCE, TOOL, Fits, fitting
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
            except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as why:
                said = f"it is none of the protocol's ({type(why).__name__}: {why})"
                self.notes.append(f"the {kind} {name!r} is withheld: {said}"[:500])
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
        wire = self._fitting(f"tool {name}", entry, TOOL)
        wire = {k: v for k, v in wire.items() if k not in ("name", "outputSchema", "execution")}
        wire["inputSchema"] = schema
        if output is not None:
            wire["outputSchema"] = output
        hints = wire.get("annotations", {})  # the host goes by them once somebody has agreed
        if hints:  # the host's lists hold no other
            hints = {key: value for key, value in hints.items() if key in HINTS}
            hints = wire["annotations"] = self._fitting(f"tool {name}", hints, HINTS)
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
        wire = self._fitting(f"prompt {name}", entry, PROMPT)
        arguments = self._arguments(name, wire)
        names = [one["name"] for one in arguments]
        required = [one["name"] for one in arguments if one.get("required")]
        wire = {key: value for key, value in wire.items() if key != "name"}
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
        uri = _uri(entry, "uri")
        if _VARIABLE.search(uri):
            raise _Withheld("its URI has braces, as templates have")
        return self._at(uri, entry, [])

    def template(self, entry: Entry) -> Entry:
        matched, variables = _as_ours(_uri(entry, "uriTemplate"))
        if not variables:
            raise _Withheld(f"{matched} has no variable")
        return self._at(matched, entry, variables)

    def _arguments(self, name: str, wire: Entry) -> list[dict[str, Any]]:
        """Return a prompt's arguments, which `wire` has then as the protocol has them."""
        given, made = wire.get("arguments", []), dict[str, dict[str, Any]]()
        for one in given:
            if not (isinstance(one, dict) and isinstance(one.get("name"), str)):
                self.notes.append(f"the prompt {name}: an argument without a name was left out")
            elif one["name"] not in made:
                made[one["name"]] = self._fitting(f"prompt {name}", one, ARGUMENT)
        if given:
            wire["arguments"] = list(made.values())
        return list(made.values())

    def _fitting(self, what: str, entry: Entry, fields: Mapping[str, Fits]) -> Entry:
        made, left_out = fitting(entry, fields)
        self.notes += [
            f"the {what}: its {key} was left out, it is of a wrong type" for key in left_out
        ]
        return made

    def _at(self, uri: str, entry: Entry, variables: list[str]) -> Entry:
        shape = re.sub(r"\{([+?&]?)[\w,]+\}", r"{\1}", uri)
        if uri.startswith(OF_THE_HOST):
            raise _Withheld(f"{uri} is the host's own")
        if shape in self._shapes:
            raise _Withheld(f"another one matches {uri} as well")
        name = str(entry.get("name") or uri)[:200]
        wire = {**self._fitting(f"resource {name}", entry, RESOURCE), "name": name}
        if "annotations" in wire:
            about = self._fitting(f"resource {name}", wire["annotations"], ANNOTATIONS)
            wire["annotations"] = about
        self._shapes.add(shape)
        return {
            "name": name,
            "uri": uri,
            "wire": _without_references(wire),
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
    """Return a template of URIs as the host matches them, and its variables' own names.

    The host knows `{x}`, `{+x}`, and for queries `{?x,y}` and `{&x,y}`.
    """
    variables: list[str] = []

    def made(found: re.Match[str]) -> str:
        kind, words = found[1], found[2].split(",")
        own = [word.split(":")[0].rstrip("*") for word in words]
        variables.extend(own)
        names = [re.sub(r"\W", "_", each) or "_" for each in own]
        if kind in ("?", "&"):
            return "{" + kind + ",".join(names) + "}"
        several = (kind in "+#" and kind != "") or words[-1].endswith("*")
        ours = ["{+" + each + "}" if several else "{" + each + "}" for each in names]
        if kind == ";":
            return ";" + ";".join(f"{name}={one}" for name, one in zip(own, ours, strict=True))
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
