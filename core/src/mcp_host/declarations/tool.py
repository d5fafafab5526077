"""Tools: what a model may call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

from pydantic_core import from_json, to_json, to_jsonable_python

from ..startup.dataclass import dataclass
from .content import CONTENT_TYPES, Page, Result, Wire, compact
from .contribution import Contribution, Function, Icon, Resolve, present, words_of
from .errors import DeclarationError
from .json_schema import Schema
from .output_schema import OutputSchema
from .signature import Signature, read_signature

Published: TypeAlias = Literal["full", "open"] | None
"""How much of the schema of what is returned is published."""
Idempotent: TypeAlias = bool | Callable[..., bool | Awaitable[bool]] | None
"""Whether a tool may be called twice, or a function of arguments that says it of one call."""


@dataclass(frozen=True)
class Tool(Contribution):
    """Something a model may call.

    A tool that is not marked `read_only` needs the caller's write scope. `timeout` is in seconds.
    `output` "full" publishes the schema of what is returned, "open" only that it is an object;
    None returns text alone. `idempotent` may be a function of arguments (by their names), for a
    tool that only some calls of may be repeated. `key` names the argument that makes a call keyed:
    a second call of the same caller with the same key does nothing and answers as the first did.
    """

    read_only: bool = False
    destructive: bool | None = None
    idempotent: Idempotent = None
    open_world: bool | None = None
    timeout: float | None = None
    input_schema: Schema | None = None
    output: Published = "full"
    key: str | None = None

    @cached_property
    def signature(self) -> Signature:
        return read_signature(self.function, self.input_schema)

    def key_of(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the key of a call with these arguments; None where it has none."""
        key = None if self.key is None else arguments.get(self.key)
        return key if isinstance(key, str) and key else None

    def is_repeatable(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a second such call does no harm, as far as is known without asking the pack."""
        return self.read_only or self.idempotent is True or self.key_of(arguments) is not None

    @cached_property
    def knows_calls(self) -> bool:
        """Whether some calls may be repeated and others not: by their key, or by a function."""
        return self.key is not None or callable(self.idempotent)

    @cached_property
    def idempotent_needs(self) -> tuple[str, ...]:
        """The arguments that the function `idempotent` takes; none where it is no function."""
        if not callable(self.idempotent):
            return ()
        return tuple(inspect.signature(self.idempotent).parameters)

    @cached_property
    def idempotent_is_async(self) -> bool:
        """Whether the function `idempotent` is `async def`."""
        return inspect.iscoroutinefunction(self.idempotent)

    def verify(self, has_service: bool) -> None:
        super().verify(has_service)
        limit = self.timeout
        if limit is not None and not (isinstance(limit, int | float) and limit > 0):
            raise DeclarationError(
                f"{self.name}: timeout must be a number of seconds above 0, not {limit!r}"
            )
        known = self.signature.arguments.schema.get("properties", {})
        for name in self.idempotent_needs:
            if name not in known:
                raise DeclarationError(
                    f"{self.name}: idempotent is a function of '{name}', which must be an argument"
                )
        if self.key is not None and self.key not in known:
            raise DeclarationError(f"{self.name}: key must name an argument, not {self.key!r}")

    def listed(self, name: str, resolve: Resolve) -> Wire:
        """The tool as `tools/list` shows it."""
        annotations = present(
            readOnlyHint=self.read_only or None,
            destructiveHint=self.destructive,
            idempotentHint=self.idempotent if isinstance(self.idempotent, bool) else None,
            openWorldHint=self.open_world,
        )
        output_schema = None
        if self._output is not None:
            output_schema = {"type": "object"} if self.output == "open" else self._output.schema
        return {
            "name": name,
            **self._words(resolve),
            "inputSchema": resolved(self.signature.arguments.schema, resolve),
            **present(outputSchema=output_schema, annotations=annotations),
        }

    def answer(self, value: Any, name: str = "") -> Wire:
        """What the function returned, as the result of `tools/call`."""
        if isinstance(value, Result):
            return value.wire()
        if self._output is None:
            return {"content": _contents(value), "isError": False}
        answer: Wire = from_json(_written(value, self._output)[0])
        return answer

    def written(self, value: Any) -> bytes | None:
        """As `Contribution.written`: of plain data."""
        if self._output is None or isinstance(value, Result):
            return None
        written, is_object = _written(value, self._output)
        return written if is_object else None

    @property
    def _output(self) -> OutputSchema | None:
        """What is said of a returned value; None where it goes as content alone."""
        return None if self.output is None else self.signature.output


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: Idempotent = None,
    open_world: bool | None = None,
    timeout: float | None = None,
    input_schema: Schema | None = None,
    output: Published = "full",
    key: str | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: Idempotent = None,
    open_world: bool | None = None,
    timeout: float | None = None,
    input_schema: Schema | None = None,
    output: Published = "full",
    key: str | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: its signature is the schema, its docstring the description."""

    def make(function: Function) -> Tool:
        return Tool(
            **words_of(function, name, title, description, icons, meta),
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            timeout=timeout,
            input_schema=input_schema,
            output=output,
            key=key,
        )

    return make if function is None else make(function)


def resolved(schema: Any, resolve: Resolve) -> Any:
    """Return a schema with sibling tools named in its descriptions by their public names."""
    if isinstance(schema, list):
        return [resolved(item, resolve) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made: Schema = {}
    for key, value in schema.items():
        if isinstance(value, str):
            made[key] = resolve(value) if key == "description" else value
        else:
            made[key] = resolved(value, resolve)
    return made


def _contents(value: Any) -> list[Wire]:
    """The content of a result without structured content."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    parts = value if isinstance(value, list) else [value]
    if all(isinstance(part, CONTENT_TYPES) for part in parts):
        return [part.wire() for part in parts]
    return [{"type": "text", "text": compact(to_jsonable_python(value, by_alias=True))}]


def _written(value: Any, output: OutputSchema) -> tuple[bytes, bool]:
    """The JSON of the result for plain data, and whether its structured content is an object.

    Of a page the first text is the array alone, and a second one what there is to say of the rest.
    """
    if isinstance(value, Page):
        plain = output.json(list(value.items))
        rest = to_json(value.rest, inf_nan_mode="null")
        texts = [plain, rest] if value.next_cursor is not None or value.notes else [plain]
        structured = rest[:-1] + b',"result":' + plain + b"}"
    else:
        plain = output.json(value)
        texts = [plain]
        structured = b'{"result":%b}' % plain if output.under_result else plain
    content = b",".join([b'{"type":"text","text":%b}' % to_json(text.decode()) for text in texts])
    written = b'{"content":[%b],"structuredContent":%b,"isError":false}' % (content, structured)
    return written, structured.startswith(b"{")
