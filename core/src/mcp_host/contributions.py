"""What a pack answers: tools, resources and prompts, and the decorators that make them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self, overload
from urllib.parse import unquote

from . import signature
from .content import CONTENT_TYPES, Embedded, Message, Page, Result, Text, compact
from .records import Record, fresh
from .schemas import Schema
from .signature import DeclarationError, Signature

Function = Callable[..., Any]
Resolve = Callable[[str], str]
Output = Literal["full", "open"] | None
VARIABLE = re.compile(r"\{\+?\w+\}")


class Icon(Record):
    """A picture for people's lists: `src` is an https: or data: URI."""

    src: str
    mime: str | None = None
    sizes: tuple[str, ...] = ()

    def wire(self) -> dict[str, Any]:
        return _present(src=self.src, mimeType=self.mime, sizes=list(self.sizes))


class _Contribution(Record):
    """What all three kinds have: a name, words about it, and the function that does it."""

    function: Function
    name: str
    description: str = ""
    title: str | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] = fresh(dict)

    def replace(self, **changes: Any) -> Self:
        """A copy with some attributes changed."""
        return self.__replace__(**changes)

    @cached_property
    def signature(self) -> Signature:
        return signature.read(self.function)

    def _words(self, resolve: Resolve) -> dict[str, Any]:
        return _present(
            title=resolve(self.title) if self.title else None,
            description=resolve(self.description) if self.description else None,
            icons=[icon.wire() for icon in self.icons],
            _meta=dict(self.meta),
        )


class Tool(_Contribution):
    """Something a model may call.

    A tool that is not marked `read_only` needs the caller's write scope. `timeout` is in seconds.
    `output` "full" publishes the schema of what is returned, "open" only that it is an object;
    None returns text alone.
    """

    read_only: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    timeout: float | None = None
    input_schema: Schema | None = None
    output: Output = "full"

    @cached_property
    def signature(self) -> Signature:
        return signature.read(self.function, self.input_schema)

    @property
    def repeatable(self) -> bool:
        """A second call does no harm, so that one which timed out may be sent again."""
        return self.read_only or self.idempotent is True

    def listed(self, name: str, resolve: Resolve) -> dict[str, Any]:
        """The tool as `tools/list` shows it."""
        return {
            "name": name,
            **self._words(resolve),
            "inputSchema": _resolved(self.signature.input_schema, resolve),
            **_present(outputSchema=self._output_schema(), annotations=self._annotations()),
        }

    def answer(self, value: Any) -> dict[str, Any]:
        """What the function returned, as the result of `tools/call`."""
        if isinstance(value, Result):
            return value.wire()
        output = self.signature.output
        if output is None or self.output is None:
            return {"content": _contents(value), "isError": False}
        adapter = output.adapter
        if isinstance(value, Page):
            return _page(value, adapter)
        plain = adapter.dump_python(adapter.validate_python(value), mode="json", by_alias=True)
        return {
            "content": [{"type": "text", "text": compact(plain)}],
            "structuredContent": {"result": plain} if output.under_result else plain,
            "isError": False,
        }

    def _output_schema(self) -> Schema | None:
        output = self.signature.output
        if output is None or self.output is None:
            return None
        return output.schema if self.output == "full" else {"type": "object"}

    def _annotations(self) -> dict[str, Any]:
        return _present(
            readOnlyHint=self.read_only or None,
            destructiveHint=self.destructive,
            idempotentHint=self.idempotent,
            openWorldHint=self.open_world,
        )


class Resource(_Contribution):
    """Something a client may read, by a URI or a template of URIs.

    `{x}` in the URI matches one segment, `{+x}` several. `ttl` is how many seconds a client may
    keep what it read; `shared` says that it is the same for every caller.
    """

    uri: str = ""
    mime: str | None = None
    ttl: float = 0
    shared: bool = False
    size: int | None = None

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(rf"({VARIABLE.pattern})", self.uri)
        return re.compile("".join(_segment(part) for part in parts), re.DOTALL)

    @cached_property
    def variables(self) -> list[str]:
        return [found.strip("{+}") for found in VARIABLE.findall(self.uri)]

    @property
    def shape(self) -> str:
        """The URI without the names in it: two of one shape match the same URIs."""
        return VARIABLE.sub(lambda found: "{+}" if "+" in found[0] else "{}", self.uri)

    def match(self, uri: str) -> dict[str, str] | None:
        """The template's values in a URI, decoded once; None where it is not of this template."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return {name: unquote(value, errors="strict") for name, value in found.groupdict().items()}

    def listed(self, name: str, resolve: Resolve) -> dict[str, Any]:
        """The resource as the lists show it."""
        return {
            "uriTemplate" if self.is_template else "uri": self.uri,
            "name": name,
            **self._words(resolve),
            **_present(mimeType=self.mime, size=self.size),
        }

    def answer(self, uri: str, value: Any) -> dict[str, Any]:
        """What the function returned, as the result of `resources/read`."""
        parts = value if isinstance(value, list) and _all_content(value) else [value]
        return {
            "contents": [self._content(uri, part) for part in parts],
            "ttlMs": int(self.ttl * 1000),
            "cacheScope": "public" if self.shared else "private",
        }

    def _content(self, uri: str, part: Any) -> dict[str, Any]:
        if isinstance(part, Embedded):
            return part.contents()
        if isinstance(part, Text):
            return Embedded(uri, part.text, part.mime or self.mime, part.meta).contents()
        if isinstance(part, str | bytes):
            return Embedded(uri, part, self.mime).contents()
        return Embedded(uri, _as_json(part), self.mime or "application/json").contents()


class Prompt(_Contribution):
    """A text that a person picks to start something with."""

    def listed(self, name: str, resolve: Resolve) -> dict[str, Any]:
        """The prompt as `prompts/list` shows it."""
        schema = self.signature.input_schema
        required = schema.get("required", ())
        arguments = [
            {
                "name": argument,
                "required": argument in required,
                **_present(title=about.get("title"), description=about.get("description")),
            }
            for argument, about in schema["properties"].items()
        ]
        return {"name": name, **self._words(resolve), **_present(arguments=arguments)}

    def answer(self, value: Any) -> dict[str, Any]:
        """What the function returned, as the result of `prompts/get`."""
        parts = value if isinstance(value, list) else [value]
        messages = [part if isinstance(part, Message) else Message(part) for part in parts]
        return {
            **_present(description=self.description or None),
            "messages": [message.wire() for message in messages],
        }


Contribution = Tool | Resource | Prompt


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
    idempotent: bool | None = None,
    open_world: bool | None = None,
    timeout: float | None = None,
    input_schema: Schema | None = None,
    output: Output = "full",
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Function], Tool]: ...
def tool(function: Function | None = None, /, **options: Any) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: its signature is the schema, its docstring the description."""
    made: Tool | Callable[[Function], Tool] = _decorated(Tool, function, options)
    return made


def resource(
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime: str | None = None,
    ttl: float = 0,
    shared: bool = False,
    size: int | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Function], Resource]:
    """Make a resource, or a template of resources, of a function that returns its content."""
    options = {
        "name": name,
        "title": title,
        "description": description,
        "icons": icons,
        "meta": meta,
    }

    def make(function: Function) -> Resource:
        made: Resource = _make(Resource, function, options)
        return made.replace(uri=uri, mime=mime, ttl=ttl, shared=shared, size=size)

    return make


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
    function: Function | None = None, /, **options: Any
) -> Prompt | Callable[[Function], Prompt]:
    """Make a prompt of a function that returns a text, a message or a list of messages."""
    made: Prompt | Callable[[Function], Prompt] = _decorated(Prompt, function, options)
    return made


def _decorated(kind: type[Any], function: Function | None, options: dict[str, Any]) -> Any:
    if function is None:
        return lambda following: _make(kind, following, options)
    return _make(kind, function, options)


def _make(kind: type[Any], function: Function, options: Mapping[str, Any]) -> Any:
    given = {key: value for key, value in options.items() if value is not None or key == "output"}
    given.setdefault("name", function.__name__)
    given.setdefault("description", inspect.getdoc(function) or "")
    return kind(function=function, **given)


def verify(contribution: Contribution, has_service: bool) -> None:
    """Read everything that a list would need; `DeclarationError` where something cannot work."""
    if not isinstance(contribution.name, str):
        raise DeclarationError(f"{contribution.name!r} is no name; a name is a text")
    read = contribution.signature
    if read.service and not has_service:
        raise DeclarationError(
            f"{contribution.name}: a parameter stands before '/', but the pack has no "
            "mcp_host_open hook that would make a service"
        )
    if isinstance(contribution, Resource):
        _verify_uri(contribution, set(read.parameters))
    if isinstance(contribution, Tool):
        limit = contribution.timeout
        if limit is not None and not (isinstance(limit, int | float) and limit > 0):
            raise DeclarationError(
                f"{contribution.name}: the timeout {limit!r} is no number of seconds above 0"
            )
    listed = contribution.listed(contribution.name, lambda text: text)
    try:
        compact(listed).encode()
    except (TypeError, ValueError) as error:  # one such entry would spoil the lists of all packs
        raise DeclarationError(
            f"{contribution.name}: what stands in the list is no JSON: {error}"
        ) from error


def _verify_uri(resource: Resource, parameters: set[str]) -> None:
    if "://" not in resource.uri:
        raise DeclarationError(f"{resource.name}: {resource.uri!r} has no scheme")
    if set("{}") & set(VARIABLE.sub("", resource.uri)):
        raise DeclarationError(
            f"{resource.name}: {resource.uri!r} has braces that are neither {{name}} nor {{+name}}"
        )
    odd = set(resource.variables) ^ parameters
    if odd:
        raise DeclarationError(
            f"{resource.name}: the URI {resource.uri} and the parameters differ in "
            + ", ".join(sorted(odd))
        )


# -- small pieces ----------------------------------------------------------------------------------


def _present(**items: Any) -> dict[str, Any]:
    return {key: value for key, value in items.items() if value not in (None, {}, [], ())}


def _resolved(schema: Any, resolve: Resolve) -> Any:
    """The schema with sibling tools named in its descriptions by their public names."""
    if isinstance(schema, list):
        return [_resolved(item, resolve) for item in schema]
    if not isinstance(schema, dict):
        return schema
    resolved: Schema = {}
    for key, value in schema.items():
        if isinstance(value, str):
            resolved[key] = resolve(value) if key == "description" else value
        else:
            resolved[key] = _resolved(value, resolve)
    return resolved


def _segment(part: str) -> str:
    if part.startswith("{+"):
        return f"(?P<{part[2:-1]}>[^?#]+)"
    if part.startswith("{"):
        return f"(?P<{part[1:-1]}>[^/?#]+)"
    return re.escape(part)


def _as_json(value: Any) -> str:
    from pydantic_core import to_jsonable_python

    return json.dumps(to_jsonable_python(value, by_alias=True), ensure_ascii=False)


def _all_content(parts: list[Any]) -> bool:
    return bool(parts) and all(isinstance(part, Text | Embedded) for part in parts)


def _contents(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(part, CONTENT_TYPES) for part in value):
        return [part.wire() for part in value]
    if isinstance(value, CONTENT_TYPES):
        return [value.wire()]
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    from pydantic_core import to_jsonable_python

    return [{"type": "text", "text": compact(to_jsonable_python(value, by_alias=True))}]


def _page(page: Page[Any], adapter: Any) -> dict[str, Any]:
    items = adapter.dump_python(
        adapter.validate_python(list(page.items)), mode="json", by_alias=True
    )
    content = [{"type": "text", "text": compact(items)}]
    if page.next_cursor is not None or page.notes:
        content.append({"type": "text", "text": compact(page.rest)})
    return {
        "content": content,
        "structuredContent": {**page.rest, "result": items},
        "isError": False,
    }
