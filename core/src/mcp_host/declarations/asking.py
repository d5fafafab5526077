"""Questions to a person, a model or the client's roots, and their answers.

A pack declares what it asks (`Ask` on a parameter); the host asks before the body runs. Clients of
the handshake era are asked live, while the call waits. On 2026-07-28 the call ends with its
questions, the client answers them and calls again; what was answered before travels in the sealed
request state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, create_model

from ..errors import Cancelled
from ..startup import digests
from ..startup.dataclass import dataclass
from .content import Audio, Image, Message, Text, Wire

T = TypeVar("T")

ROUNDS = 10
"""How often one call may come back with questions: one that changes each time must end."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a person said to a form: `value` is there when `action` is "accept"."""

    action: Literal["accept", "decline", "cancel"]
    value: T | None = None

    def or_stop(self) -> T:
        """The value; a refusal ends the call as `cancelled`."""
        if self.action != "accept":
            raise Cancelled(f"The user chose to {self.action}.")
        return self.value  # type: ignore[return-value]  # an accepted answer has its value


@runtime_checkable
class Question(Protocol):
    """Something the client can be asked."""

    @property
    def capability(self) -> str:
        """The client capability that it needs."""

    def wire(self) -> Wire:
        """The request that asks it: `{"method", "params"?}`."""

    def read(self, raw: Mapping[str, Any]) -> Any:
        """The client's answer; `ValueError`, `KeyError` or `TypeError` where it does not fit."""


ANSWER_ERRORS = (KeyError, TypeError, ValueError, AttributeError)
"""What `Question.read` raises for an answer that does not fit."""

_PLAIN_TYPES = ("string", "integer", "number", "boolean")


@dataclass(frozen=True, eq=False)
class Form(Generic[T]):
    """A question with a form: `shape` is a model of plain fields, or one plain type.

    Raises `TypeError` when made with fields that a form cannot have (nested models, unions).
    """

    message: str
    shape: type[T]
    field: str = "value"

    capability = "elicitation"

    def __post_init__(self) -> None:
        properties = self._schema().get("properties", {})
        odd = [name for name, schema in properties.items() if not _is_plain(schema)]
        if odd:
            raise TypeError(f"every field of a form must be plain; not plain: {', '.join(odd)}")

    def wire(self) -> Wire:
        params = {"message": self.message, "requestedSchema": self._schema()}
        return {"method": "elicitation/create", "params": params}

    def read(self, raw: Mapping[str, Any]) -> Answer[T]:
        action = raw.get("action")
        if action == "decline" or action == "cancel":
            return Answer(action)
        if action != "accept":
            raise ValueError("an answer to a form needs an action")
        value = self._model().model_validate(raw.get("content") or {})
        if self._is_model():
            return Answer("accept", value)  # type: ignore[arg-type]  # the model is the shape
        return Answer("accept", getattr(value, self.field))

    def _is_model(self) -> bool:
        return isinstance(self.shape, type) and issubclass(self.shape, BaseModel)

    def _model(self) -> type[BaseModel]:
        if self._is_model():
            return self.shape  # type: ignore[return-value]  # just checked
        return create_model("Answer", **{self.field: (self.shape, ...)})  # type: ignore[call-overload,no-any-return]

    def _schema(self) -> Wire:
        schema = self._model().model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        return schema


def _is_plain(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "array":
        return bool(schema.get("items", {}).keys() & {"enum", "anyOf"})
    return schema.get("type") in _PLAIN_TYPES


@dataclass(frozen=True, eq=False)
class Choice:
    """A question with a choice: the answer is one of `options`, or with `several` a list of them.

    `options` are values, or values with the words that a person reads, such as rows of a table.
    Raises `TypeError` where they are not texts, and `ValueError` where there is none.
    """

    message: str
    options: Sequence[str] | Mapping[str, str]
    several: bool = False
    field: str = "value"

    capability = "elicitation"

    def __post_init__(self) -> None:
        words = dict(self.options) if isinstance(self.options, Mapping) else list(self.options)
        texts = [*words, *(words.values() if isinstance(words, dict) else ())]
        if isinstance(self.options, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("the options of a choice must be texts, or texts with their words")
        if not words:
            raise ValueError("options of a Choice must not be empty")
        object.__setattr__(self, "options", words)

    def wire(self) -> Wire:
        one: Wire = (
            {"type": "string", "oneOf": [{"const": v, "title": t} for v, t in self.options.items()]}
            if isinstance(self.options, Mapping)
            else {"type": "string", "enum": list(self.options)}
        )
        if self.several:
            items = {"anyOf": one["oneOf"]} if "oneOf" in one else one
            one = {"type": "array", "items": items}
        schema = {"type": "object", "properties": {self.field: one}, "required": [self.field]}
        params = {"message": self.message, "requestedSchema": schema}
        return {"method": "elicitation/create", "params": params}

    def read(self, raw: Mapping[str, Any]) -> Answer[Any]:
        action = raw.get("action")
        if action == "decline" or action == "cancel":
            return Answer(action)
        if action != "accept":
            raise ValueError("an answer to a choice needs an action")
        chosen = raw["content"][self.field]
        values = chosen if self.several else [chosen]
        if not isinstance(values, list) or not all(value in self.options for value in values):
            raise ValueError("an answer to a choice must be one of its options")
        return Answer("accept", chosen)


@dataclass(frozen=True, eq=False)
class Visit:
    """Have a person open a page in their browser, such as one to sign in on; the answer is True.

    What happens there the client does not see: that they agreed is all that the answer says. `key`
    is sent as the id of the question; it must tell this visit from others.
    """

    message: str
    url: str
    key: str

    capability = "elicitation.url"

    def wire(self) -> Wire:
        params = {
            "mode": "url",
            "message": self.message,
            "url": self.url,
            "elicitationId": self.key,
        }
        return {"method": "elicitation/create", "params": params}

    def read(self, raw: Mapping[str, Any]) -> Answer[bool]:
        action = raw.get("action")
        if action not in ("accept", "decline", "cancel"):
            raise ValueError("an answer to a visit needs an action")
        return Answer(action, True if action == "accept" else None)


@dataclass(frozen=True, eq=False)
class Sample:
    """Have the client's model write something; the answer is its text.

    `prompt` is a text, a picture or a sound, or a list of these and of `Message`s.
    """

    prompt: str | Text | Image | Audio | Message | Sequence[str | Text | Image | Audio | Message]
    max_tokens: int = 1000
    system: str | None = None

    def __post_init__(self) -> None:
        said = [part.content if isinstance(part, Message) else part for part in self._parts]
        if not all(isinstance(part, str | Text | Image | Audio) for part in said):
            raise TypeError("a prompt must be made of texts, pictures, sounds and messages of them")

    @property
    def _parts(self) -> Sequence[Any]:
        return self.prompt if isinstance(self.prompt, list | tuple) else [self.prompt]

    @property
    def capability(self) -> str:
        return "sampling"

    def wire(self) -> Wire:
        params: Wire = {
            "messages": [
                (part if isinstance(part, Message) else Message(part)).wire()
                for part in self._parts
            ],
            "maxTokens": self.max_tokens,
        }
        if self.system:
            params["systemPrompt"] = self.system
        return {"method": "sampling/createMessage", "params": params}

    def read(self, raw: Mapping[str, Any]) -> str:
        content = raw["content"]
        blocks = content if isinstance(content, list) else [content]
        return "".join(block.get("text", "") for block in blocks)


@dataclass(frozen=True, eq=False)
class Root:
    """A folder that the client works in."""

    uri: str
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Roots:
    """Which folders the client works in; the answer is a list of `Root`."""

    @property
    def capability(self) -> str:
        return "roots"

    def wire(self) -> Wire:
        return {"method": "roots/list"}

    def read(self, raw: Mapping[str, Any]) -> list[Root]:
        return [Root(root["uri"], root.get("name")) for root in raw["roots"]]


def _digest(question: Question) -> str:
    text = json.dumps(question.wire(), sort_keys=True)
    return digests.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


class Answers:
    """What is known of one call's questions: from the sealed state, and fresh from the client."""

    def __init__(self, fresh: Mapping[str, Any] | None = None, state: str | None = None) -> None:
        before = json.loads(state) if state else {}
        self._known: dict[str, tuple[str, Any]] = dict(before.get("answers", {}))
        self._asked: dict[str, str] | None = before.get("asked")
        self._fresh = dict(fresh or {})
        self.round = int(before.get("round", 0))

    def take(self, name: str, question: Question) -> Any:
        """The fitting answer to a question; one of `ANSWER_ERRORS` where there is none.

        An answer counts only for the question that was asked under this name: who agreed to lose
        two files has not agreed to lose two hundred. One that comes without state was given
        unasked, which the protocol allows.
        """
        digest = _digest(question)
        if name in self._fresh and (self._asked is None or self._asked.get(name) == digest):
            answer = question.read(self._fresh[name])
            self._known[name] = (digest, self._fresh.pop(name))
            return answer
        answered, raw = self._known[name]
        if answered != digest:
            raise KeyError(name)
        return question.read(raw)

    def state(self, open_questions: Mapping[str, Question]) -> str:
        """What the client carries back: the answers so far and which questions are open."""
        asked = {name: _digest(question) for name, question in open_questions.items()}
        return json.dumps({"answers": self._known, "asked": asked, "round": self.round + 1})
