"""What a pack in a process of its own has declared, as it is told to the host: plain data.

The host gets the same kinds of contribution as from a pack in threads, but for their functions,
which stay where they are.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import cached_property
from typing import Any, NoReturn

from ..declarations.arguments import SchemaArguments
from ..declarations.asked import AskedParameter
from ..declarations.content import Wire
from ..declarations.contribution import Contribution, Resolve
from ..declarations.extension import Extension, LongCalls, Method, Subscriptions
from ..declarations.markers import Ask
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.signature import Signature
from ..declarations.tool import Tool, resolved
from ..startup.dataclass import dataclass
from .declared import Declared
from .skills import FoundSkills, Skill

SCHEMA_NAMES = "#/$defs/{pack}.{{model}}"
LONG_CALLS = ("after", "limit", "without_extension")
TEXTS = ("title", "description")
"""What of an entry names of other packs are put into."""
GLOBS = ("required", "asked_behind", "never")
"""What `LongCalls` has beside its methods."""


def elsewhere(**_: Any) -> NoReturn:
    """Stand for a function that is in another process."""
    raise NotImplementedError("this function is in the pack's own process")


@dataclass(frozen=True)
class Told(Contribution):
    """What every contribution of another process has: its list's entry, and its input schema.

    `proposing` are the parameters that values can be proposed for, `asking` those that are asked
    for.
    """

    wire: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    proposing: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()

    @cached_property
    def signature(self) -> Signature:
        return Signature(
            elsewhere,
            service=None,
            context=None,
            arguments=SchemaArguments(dict(self.schema), None),
            questions=dict.fromkeys(self.asking, AskedParameter(Ask(""), str, "stop")),
            rounds=(),
            proposals=dict.fromkeys(self.proposing, elsewhere),
            returns=None,
        )

    def listed(self, name: str, resolve: Resolve) -> Wire:
        """Return the entry of its list, under this name."""
        entry = {**self.wire, "name": name}
        for key in TEXTS:
            if key in entry:
                entry[key] = resolve(entry[key])
        if "inputSchema" in entry:
            entry["inputSchema"] = resolved(entry["inputSchema"], resolve)
        return entry


@dataclass(frozen=True)
class ToldTool(Told, Tool):
    """A tool of a pack in another process."""


@dataclass(frozen=True)
class ToldMethod(Told, Method):
    """A method of an extension of a pack in another process."""


@dataclass(frozen=True)
class ToldResource(Told, Resource):
    """A resource of a pack in another process."""


@dataclass(frozen=True)
class ToldPrompt(Told, Prompt):
    """A prompt of a pack in another process."""


@dataclass(frozen=True)
class ToldSettings:
    """The model of a pack's settings, as its JSON schema."""

    schema: Mapping[str, Any]
    reads_environment: tuple[str, ...] = ()

    def model_json_schema(self, **_: Any) -> dict[str, Any]:
        """Return the schema, with names as `SCHEMA_NAMES`."""
        return copy.deepcopy(dict(self.schema))


def tell(declared: Declared) -> dict[str, Any]:
    """Return what a pack has declared as JSON data, in the pack's process."""
    model = declared.settings_model
    own_settings = None
    if model is not None:
        template = SCHEMA_NAMES.format(pack=declared.name)
        own_settings = {
            "schema": model.model_json_schema(ref_template=template),
            "reads_environment": list(getattr(model, "reads_environment", ())),
        }
    return {
        "module": declared.offer.module,
        "distribution": declared.offer.distribution,
        "version": declared.offer.version,
        "file": declared.file,
        "settings": own_settings,
        "tools": [tell_one(tool) for tool in declared.tools],
        "resources": [tell_one(resource) for resource in declared.resources],
        "prompts": [tell_one(prompt) for prompt in declared.prompts],
        "instructions": declared.instructions,
        "acts_as_server_user": declared.acts_as_server_user,
        "checks": len(declared.checks),
        "bus": declared.bus is not None,
        "extensions": [
            {
                "identifier": one.identifier,
                "settings": dict(one.settings),
                "methods": [tell_one(method) for method in one.methods],
                "notifications": [tell_one(method) for method in one.notifications],
                "sends": list(one.sends),
                "long_calls": _tell_long_calls(one.long_calls),
                "skills_at": one.skills_at,
                "subscriptions": _tell_subscriptions(one.subscriptions),
            }
            for one in declared.extensions
        ],
        "needs": asdict(declared.needs),
        "skills": [asdict(skill) for skill in declared.skills.skills],
        "skill_problems": list(declared.skills.problems),
    }


def tell_one(contribution: Contribution) -> dict[str, Any]:
    """Return one contribution as JSON data."""
    if isinstance(contribution, Tool):
        return {
            **_common(contribution),
            "kind": "method" if isinstance(contribution, Method) else "tool",
            "read_only": contribution.read_only,
            "idempotent": contribution.idempotent is True,
            "key": contribution.key,
            "timeout": contribution.timeout,
            **({"named_by": contribution.named_by} if isinstance(contribution, Method) else {}),
        }
    if isinstance(contribution, Resource):
        return {
            **_common(contribution),
            "kind": "resource",
            "uri": contribution.uri,
            "whose": contribution.whose,
        }
    return {**_common(contribution), "kind": "prompt"}


def _tell_long_calls(long_calls: LongCalls | None) -> dict[str, Any] | None:
    if long_calls is None:
        return None
    plain = {name: getattr(long_calls, name) for name in LONG_CALLS}
    globs = {name: list(getattr(long_calls, name)) for name in GLOBS}
    return {**plain, **globs, "methods": [tell_one(one) for one in long_calls.methods]}


def _tell_subscriptions(told: Subscriptions | None) -> dict[str, Any] | None:
    if told is None:
        return None
    own = [tell_one(told.agree), tell_one(told.get)]
    return {"key": told.key, "notification": told.notification, "methods": own}


def contribution_of(told: Mapping[str, Any]) -> Contribution:
    """Return the contribution that was told; `KeyError` or `TypeError` where none was."""
    if told["kind"] == "tool":
        return tools([told])[0]
    return resources([told])[0] if told["kind"] == "resource" else prompts([told])[0]


def _common(contribution: Contribution) -> dict[str, Any]:
    signature = contribution.signature
    return {
        "name": contribution.name,
        "wire": contribution.listed(contribution.name, lambda text: text),
        "schema": signature.arguments.schema,
        "proposing": list(signature.proposals),
        "asking": list(signature.questions),
    }


def _told(one: Mapping[str, Any]) -> dict[str, Any]:
    wire = one["wire"]
    for key in TEXTS:
        if not isinstance(wire.get(key, ""), str):
            raise TypeError(f"the {key} of {one['name']} must be a text")
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    return {
        "name": str(one["name"]),
        "wire": dict(wire),
        "schema": one.get("schema") or wire.get("inputSchema") or empty,
        "proposing": tuple(one.get("proposing", ())),
        "asking": tuple(one.get("asking", ())),
    }


def tools(told: Sequence[Mapping[str, Any]]) -> tuple[Tool, ...]:
    """Return the tools that were told."""
    return tuple(
        ToldTool(
            elsewhere,
            **_told(one),
            read_only=one.get("read_only") is True,
            idempotent=one.get("idempotent") is True,
            key=one.get("key"),
            timeout=one.get("timeout"),
        )
        for one in told
    )


def resources(told: Sequence[Mapping[str, Any]]) -> tuple[Resource, ...]:
    """Return the resources that were told."""
    return tuple(
        ToldResource(elsewhere, **_told(one), uri=str(one["uri"]), whose=one.get("whose"))
        for one in told
    )


def extensions(told: Sequence[Mapping[str, Any]]) -> tuple[Extension, ...]:
    """Return the extensions that were told."""
    return tuple(
        Extension(
            str(one["identifier"]),
            dict(one.get("settings", {})),
            methods(one.get("methods", ())),
            methods(one.get("notifications", ())),
            tuple(map(str, one.get("sends", ()))),
            _long_calls(one.get("long_calls")),
            str(one.get("skills_at", "")),
            _subscriptions(one.get("subscriptions")),
        )
        for one in told
    )


def _long_calls(told: Mapping[str, Any] | None) -> LongCalls | None:
    if told is None:
        return None
    plain: dict[str, Any] = {name: told[name] for name in LONG_CALLS}
    globs: dict[str, Any] = {name: tuple(map(str, told[name])) for name in GLOBS}
    begin, tell_of, steer = methods(told["methods"])
    return LongCalls(begin, tell_of, steer, **plain, **globs)


def _subscriptions(told: Mapping[str, Any] | None) -> Subscriptions | None:
    if told is None:
        return None
    agree, get = methods(told["methods"])
    return Subscriptions(str(told["key"]), str(told["notification"]), agree, get)


def methods(told: Sequence[Mapping[str, Any]]) -> tuple[Method, ...]:
    """Return the methods of an extension that were told."""
    return tuple(
        ToldMethod(
            elsewhere,
            **_told(one),
            read_only=one.get("read_only") is True,
            idempotent=one.get("idempotent") is True,
            timeout=one.get("timeout"),
            named_by=one.get("named_by"),
        )
        for one in told
    )


def skills(told: Mapping[str, Any]) -> FoundSkills:
    """Return the skills of what a pack has declared."""
    found = (Skill(**one) for one in told.get("skills", ()))
    return FoundSkills(tuple(found), tuple(map(str, told.get("skill_problems", ()))))


def prompts(told: Sequence[Mapping[str, Any]]) -> tuple[Prompt, ...]:
    """Return the prompts that were told."""
    return tuple(ToldPrompt(elsewhere, **_told(one)) for one in told)
