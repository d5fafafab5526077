"""Resources: what a client may read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic_core import to_jsonable_python

from ..startup.dataclass import dataclass
from .content import Embedded, Text, Wire
from .contribution import Contribution, Function, Icon, Resolve, present, words_of
from .errors import DeclarationError
from .uri_template import UriTemplate


@dataclass(frozen=True)
class Resource(Contribution):
    """Something a client may read, by a URI or a template of URIs.

    `{x}` in the URI matches one segment, `{+x}` several. `ttl` is how many seconds a client may
    keep what it read; `shared` says that it is the same for every caller. `whose` is the variable
    that names whose it is: a caller with another subject may not watch it.
    """

    uri: str = ""
    mime: str | None = None
    ttl: float = 0
    shared: bool = False
    size: int | None = None
    whose: str | None = None

    @cached_property
    def template(self) -> UriTemplate:
        return UriTemplate(self.uri)

    @property
    def offered_name(self) -> str:
        return self.uri

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables' values in a URI, decoded once; None where it is not of this template."""
        return self.template.match(uri)

    def verify(self, has_service: bool) -> None:
        super().verify(has_service)
        try:
            self.template.check()
        except DeclarationError as error:
            raise DeclarationError(f"{self.name}: {error}") from error
        if self.whose is not None and self.whose not in self.template.variables:
            raise DeclarationError(f"{self.name}: whose must be a variable of {self.uri}")
        odd = set(self.template.variables) ^ set(self.signature.arguments.names)
        if odd:
            raise DeclarationError(
                f"{self.name}: the parameters must be the variables of {self.uri}; "
                f"they differ in {', '.join(sorted(odd))}"
            )

    def listed(self, name: str, resolve: Resolve) -> Wire:
        """The resource as the lists show it."""
        return {
            "uriTemplate" if self.is_template else "uri": self.uri,
            "name": name,
            **self._words(resolve),
            **present(mimeType=self.mime, size=self.size),
        }

    def answer(self, value: Any, name: str = "") -> Wire:
        """What the function returned, as the result of `resources/read`; `name` is the URI."""
        are_contents = isinstance(value, list) and all(
            isinstance(part, Text | Embedded) for part in value
        )
        parts = value if are_contents and value else [value]
        return {
            "contents": [self._content(name, part) for part in parts],
            "ttlMs": int(self.ttl * 1000),
            "cacheScope": "public" if self.shared else "private",
        }

    def _content(self, uri: str, part: Any) -> Wire:
        if isinstance(part, Embedded):
            return part.contents()
        if isinstance(part, Text):
            return Embedded(uri, part.text, part.mime or self.mime, part.meta).contents()
        if isinstance(part, str | bytes):
            return Embedded(uri, part, self.mime).contents()
        text = json.dumps(to_jsonable_python(part, by_alias=True), ensure_ascii=False)
        return Embedded(uri, text, self.mime or "application/json").contents()


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
    whose: str | None = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Function], Resource]:
    """Make a resource, or a template of resources, of a function that returns its content."""

    def make(function: Function) -> Resource:
        return Resource(
            **words_of(function, name, title, description, icons, meta),
            uri=uri,
            mime=mime,
            ttl=ttl,
            shared=shared,
            size=size,
            whose=whose,
        )

    return make
