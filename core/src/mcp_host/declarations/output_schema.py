"""What is said of a value that a tool returns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self, get_args, get_origin

from pydantic import TypeAdapter
from pydantic_core import to_json

from .borrowed import SchemaWriter
from .content import CONTENT_TYPES, Message, Page, Result
from .json_schema import Schema, changed_throughout


class OutputSchema:
    """The schema of a type that is returned, and what makes plain data of its values.

    `under_result` says that a value stands under the key `result`: what is no object must.
    """

    def __init__(self, schema: Schema, under_result: bool, adapter: TypeAdapter[Any]) -> None:
        self.schema = schema
        self.under_result = under_result
        self._adapter = adapter

    @classmethod
    def of(cls, hint: Any) -> Self | None:
        """What an annotation says; None where a text or content of its own is returned."""
        if hint in (None, type(None), str, bytes, Any) or _is_content(hint):
            return None
        pages = [arm for arm in get_args(hint) if get_origin(arm) is Page]
        if pages:  # a list where all of it fits in an answer, a page of it where more remains
            hint = list[get_args(pages[0])[0]]  # type: ignore[misc]  # a value
        try:
            return cls._known(hint)
        except TypeError:  # what stands in an annotation need not be hashable
            return cls._of(hint)

    @classmethod
    @lru_cache(maxsize=512, typed=True)
    def _known(cls, hint: Any) -> Self:
        """As `_of`; the tools of a pack return the same few types."""
        return cls._of(hint)

    @classmethod
    def _of(cls, hint: Any) -> Self:
        is_page = get_origin(hint) is Page
        kind: Any = list[get_args(hint)[0]] if is_page else hint  # type: ignore[misc]  # a value
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        written = adapter.json_schema(mode="serialization", schema_generator=SchemaWriter)
        schema: Schema = changed_throughout(written, _open)
        schema.pop("description", None)
        if schema.get("type") == "object":
            return cls(schema, False, adapter)
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        properties = {**(_PAGE if is_page else {}), "result": schema}
        wrapped = {"type": "object", "properties": properties, "required": [*properties]}
        return cls({**wrapped, **definitions}, True, adapter)

    def plain(self, value: Any) -> Any:
        """The value as plain data; pydantic's `ValidationError` where it breaks the schema."""
        checked = self._adapter.validator.validate_python(value)
        return self._adapter.serializer.to_python(checked, mode="json", by_alias=True)

    def json(self, value: Any) -> bytes:
        """The JSON of `plain`: a number that JSON does not have is null."""
        checked = self._adapter.validator.validate_python(value)
        written: bytes = self._adapter.serializer.to_json(checked, by_alias=True)
        if b"NaN" in written or b"Infinity" in written:  # a type may have them written so
            return to_json(self.plain(value), inf_nan_mode="null")
        return written


_PAGE: Schema = {
    "total": {"type": "integer"},
    "truncated": {"type": "boolean"},
    "next_cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]},
}


def _open(schema: Schema) -> Schema:
    """A schema without a title that allows what a later version may add."""
    return {
        key: value
        for key, value in schema.items()
        if key != "title" and not (key == "additionalProperties" and value is False)
    }


def _is_content(hint: Any) -> bool:
    kinds = (*CONTENT_TYPES, Message, Result)
    return hint in kinds or any(_is_content(arm) for arm in get_args(hint))
