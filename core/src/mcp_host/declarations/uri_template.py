"""URIs with variables: `{x}` stands for one segment, `{+x}` for several."""

from __future__ import annotations

import re
from functools import cached_property
from urllib.parse import unquote

from .errors import DeclarationError

_VARIABLE = re.compile(r"(\{\+?\w+\})")


class UriTemplate:
    """A URI, with or without variables."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def variables(self) -> list[str]:
        """The names of the variables."""
        return [found.strip("{+}") for found in _VARIABLE.findall(self.text)]

    @property
    def shape(self) -> str:
        """The URI without the names in it: two of one shape match the same URIs."""
        return _VARIABLE.sub(lambda found: "{+}" if "+" in found[0] else "{}", self.text)

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables' values in a URI, decoded once; None where it is not of this template.

        Raises `UnicodeDecodeError` for one that does not decode to UTF-8.
        """
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return {name: unquote(value, errors="strict") for name, value in found.groupdict().items()}

    def check(self) -> None:
        """`DeclarationError` where this is no URI or has braces that mean nothing."""
        if "://" not in self.text:
            raise DeclarationError(
                f"URI must have a scheme, as in 'notes://all', not {self.text!r}"
            )
        if set("{}") & set(_VARIABLE.sub("", self.text)):
            raise DeclarationError(
                f"braces in {self.text!r} must be those of {{name}} or {{+name}}"
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern = ""
        for part in _VARIABLE.split(self.text):
            if part.startswith("{"):
                pattern += f"(?P<{part.strip('{+}')}>{'[^?#]' if '+' in part else '[^/?#]'}+)"
            else:
                pattern += re.escape(part)
        return re.compile(pattern, re.DOTALL)
