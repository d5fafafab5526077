"""A person, a model and a client's folders, as a test wants them to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Wire = Mapping[str, Any]
FormAnswer = Mapping[str, Any] | None
"""The fields of the form; None declines."""


@dataclass
class Person:
    """Answers what a server asks.

    `form(message, schema)` gives the fields to fill in, or None to decline; without it, a person
    agrees to everything: the first choice, the default, or true. `visit(params)` opens a page and
    says whether they agree to. `asked` holds every question.
    """

    form: Callable[[str, Wire], FormAnswer] | None = None
    visit: Callable[[Wire], bool] | None = None
    text: str = "A text of the client's model."
    roots: Sequence[str] = ()
    offers: frozenset[str] = frozenset({"elicitation", "elicitation.url", "sampling", "roots"})
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def capabilities(self) -> dict[str, Any]:
        """What a client with this person behind it declares."""
        capabilities: dict[str, Any] = {name: {} for name in sorted(self.offers) if "." not in name}
        if "elicitation.url" in self.offers:
            form: dict[str, Any] = {"form": {}} if "elicitation" in self.offers else {}
            capabilities["elicitation"] = {**form, "url": {}}
        return capabilities

    def answer(self, question: Wire) -> dict[str, Any]:
        """The answer to one question, as the protocol has it."""
        self.asked.append(dict(question))
        method, params = question["method"], question.get("params", {})
        if method == "elicitation/create" and params.get("mode") == "url":
            return {"action": "accept" if self.visit is None or self.visit(params) else "decline"}
        if method == "elicitation/create":
            return self._filled(params)
        if method == "sampling/createMessage":
            content = {"type": "text", "text": self.text}
            return {"role": "assistant", "content": content, "model": "test"}
        if method == "roots/list":
            return {"roots": [{"uri": uri} for uri in self.roots]}
        raise ValueError(f"nobody answers {method}")

    def _filled(self, params: Wire) -> dict[str, Any]:
        schema = params["requestedSchema"]
        if self.form is not None:
            content = self.form(params["message"], schema)
            if content is None:
                return {"action": "decline"}
        else:
            content = {name: _agreeing(of) for name, of in schema["properties"].items()}
        return {"action": "accept", "content": dict(content)}


def _agreeing(schema: Wire) -> Any:
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "oneOf" in schema:
        return schema["oneOf"][0]["const"]
    if "items" in schema:
        of = schema["items"]
        return [of["enum"][0] if "enum" in of else of["anyOf"][0]["const"]]
    kinds = {"boolean": True, "integer": 1, "number": 1.0, "string": "yes", "array": []}
    return kinds[schema.get("type", "string")]
