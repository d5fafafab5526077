"""Prompts: texts that a person picks to start something with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from ..startup.dataclass import dataclass
from .content import CONTENT_TYPES, Message, Wire
from .contribution import Contribution, Function, Icon, Resolve, present, words_of


@dataclass(frozen=True)
class Prompt(Contribution):
    """A text that a person picks to start something with."""

    def listed(self, name: str, resolve: Resolve) -> Wire:
        """The prompt as `prompts/list` shows it."""
        schema = self.signature.arguments.schema
        required = schema.get("required", ())
        arguments = [
            {
                "name": argument,
                "required": argument in required,
                **present(title=about.get("title"), description=about.get("description")),
            }
            for argument, about in schema["properties"].items()
        ]
        return {"name": name, **self._words(resolve), **present(arguments=arguments)}

    def answer(self, value: Any, name: str = "") -> Wire:
        """What the function returned, as the result of `prompts/get`."""
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            said = part.content if isinstance(part, Message) else part
            if not isinstance(said, (str, *CONTENT_TYPES)):
                raise TypeError(
                    "a prompt must return a text, a Message, content such as Image, or a list of "
                    f"these, not {type(said).__name__}"
                )
        messages = [part if isinstance(part, Message) else Message(part) for part in parts]
        return {
            **present(description=self.description or None),
            "messages": [message.wire() for message in messages],
        }


@overload
def prompt(function: Function, /) -> Prompt: ...
@overload
def prompt(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Function], Prompt]: ...
def prompt(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Prompt | Callable[[Function], Prompt]:
    """Make a prompt of a function that returns a text, a message or a list of messages."""

    def make(function: Function) -> Prompt:
        return Prompt(**words_of(function, name, title, description, icons, meta))

    return make if function is None else make(function)
