"""URIs with variables: `{x}` stands for one segment, `{+x}` for several.

What a mounted server lists may have `{?x,y}` and `{&x,y}` as well, for a query with any of them or
none; a pack's own resources may not.
"""

from __future__ import annotations

import re
from functools import cached_property
from urllib.parse import unquote

from .errors import DeclarationError

_OWN = re.compile(r"\{\+?\w+\}")
_VARIABLE = re.compile(r"(\{\+?\w+\}|\{[?&]\w+(?:,\w+)*\})")


class UriTemplate:
    """A URI, with or without variables."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def variables(self) -> list[str]:
        """The names of the variables."""
        return [name for part in _VARIABLE.findall(self.text) for name in _names(part)]

    @property
    def shape(self) -> str:
        """The URI without the names in it: two of one shape match the same URIs."""
        return _VARIABLE.sub(lambda found: "{" + _kind(found[0]) + "}", self.text)

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables' values in a URI, decoded once; None where it is not of this template.

        Raises `UnicodeDecodeError` for one that does not decode to UTF-8.
        """
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        values: dict[str, str] = {}
        for part, value in zip(_VARIABLE.findall(self.text), found.groups(), strict=True):
            names = _names(part)
            if _kind(part) in ("?", "&"):
                pairs = (pair.partition("=") for pair in (value or "").split("&"))
                values |= {name: given for name, _, given in pairs if name in names}
            else:
                values[names[0]] = value
        return {name: unquote(value, errors="strict") for name, value in values.items()}

    def check(self) -> None:
        """`DeclarationError` where this is no URI or has braces that mean nothing."""
        if "://" not in self.text:
            raise DeclarationError(
                f"URI must have a scheme, as in 'notes://all', not {self.text!r}"
            )
        if set("{}") & set(_OWN.sub("", self.text)):
            raise DeclarationError(
                f"braces in {self.text!r} must be those of {{name}} or {{+name}}"
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("".join(map(_pattern_of, _VARIABLE.split(self.text))), re.DOTALL)


def _names(part: str) -> list[str]:
    return part.strip("{+?&}").split(",")


def _kind(part: str) -> str:
    """How a variable part begins: with nothing, `+`, `?` or `&`."""
    return part[1] if part[1] in "+?&" else ""


def _pattern_of(part: str) -> str:
    if not _VARIABLE.fullmatch(part):
        return re.escape(part)
    kind = _kind(part)
    if kind in ("?", "&"):
        return rf"(?:\{kind}([^#]*))?"
    return "([^?#]+)" if kind else "([^/?#]+)"
