"""The request in a line that is too long to be kept: its id, found while the line passes."""

from __future__ import annotations

import re

from .json_text import loads
from .protocol import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST = 1000
"""Characters of a key or an id that are kept; one that is longer is not known."""
DEEPEST = 1000
"""Arrays and objects in one another, in a line that is looked at to its end."""
STEPS = 1_000_000
"""The most pieces of a line that are looked at: some tenths of a second."""

_SPACE = re.compile(rb"[ \t\r]*")
_SCALAR = re.compile(rb"[\w+.\-]*")
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_PASSED = rb'[\w+.\-,: \t\r]++|"(?:[^"\\]++|\\.)*+"'
for _ in range(3):
    _PASSED += rb"|\{(?:" + _PASSED + rb")*+\}|\[(?:" + _PASSED + rb")*+\]"
_NESTED = re.compile(rb"(?:" + _PASSED + rb")*+", re.DOTALL)
"""What can be passed over at once inside of a value: nothing that has more than three levels."""
_CLOSES = {"{": "}", "[": "]"}


class LongLine:
    """Reads a line part by part, and keeps of it what tells the id of its request.

    The outermost object is read strictly: a line that is not one object from its beginning to its
    end, or that has two ids, tells none. Of the values of its members only strings and brackets
    are, since an `"id"` in there is not the request's.

    Invariants: `_open` are the brackets that are open. `_place` is what may come next while at
    most one is; `_text` is what came of the key or the value there, None inside of a deeper one.
    All attributes are plain values, which `state` gives and `LongLine.of` takes.
    """

    def __init__(self) -> None:
        self.length = 0
        self._steps = 0
        self._open = ""
        self._place = "start"
        self._text: str | None = None
        self._is_in_string = False
        self._is_escaped = False
        self._key: str | None = None
        self._id: str | int | None = None
        self._has_id = False
        self._has_method = False
        self._is_reply = False

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> LongLine:
        """Go on where another one was."""
        made = cls()
        vars(made).update(state)
        return made

    @property
    def state(self) -> dict[str, Any]:
        """Where it is."""
        return dict(vars(self))

    @property
    def request_id(self) -> str | int | None:
        """The id of the request that the line is; None where it is none, or that is not certain."""
        is_request = self._place == "end" and self._has_method and not self._is_reply
        return self._id if is_request else None

    def feed(self, part: bytes) -> None:
        """Read on."""
        self.length += len(part)
        at = 0
        while at < len(part) and self._place != "wrong":
            self._steps += 1
            if self._steps > STEPS:
                self._place = "wrong"
            if self._is_in_string:
                at = self._pass_string(part, at)
            elif len(self._open) > 1:
                at = self._pass_value(part, at)
            else:
                at = self._at_top(part, at)

    def _pass_string(self, part: bytes, at: int) -> int:
        end = at + 1 if self._is_escaped else _end(_IN_STRING, part, at)
        has_ended = not self._is_escaped and part[end : end + 1] == b'"'
        self._is_escaped = not self._is_escaped and part[end : end + 1] == b"\\"  # its last byte
        end += has_ended or self._is_escaped
        self._keep(part, at, end)
        if has_ended:
            self._is_in_string = False
            if self._place == "key":
                self._key, self._place = self._kept(), "colon"
            elif len(self._open) == 1:
                self._value_ended()
        return end

    def _pass_value(self, part: bytes, at: int) -> int:
        end = _end(_NESTED, part, at)
        byte = part[end : end + 1].decode("latin-1")
        if byte == '"':
            self._is_in_string = True
        elif byte and byte in "{[" and len(self._open) < DEEPEST:
            self._open += byte
        elif byte and byte == _CLOSES[self._open[-1]]:
            self._open = self._open[:-1]
            if len(self._open) == 1:
                self._value_ended()
        elif byte:
            self._place = "wrong"
        return end + 1

    def _at_top(self, part: bytes, at: int) -> int:
        if self._place == "scalar":
            end = _end(_SCALAR, part, at)
            self._keep(part, at, end)
            if end < len(part):
                self._value_ended()
            return end
        at = _end(_SPACE, part, at)
        byte = part[at : at + 1].decode("latin-1")
        match self._place, byte:
            case _, "":
                pass
            case "start", "{":
                self._open, self._place = byte, "first key"
            case (("first key" | "key"), '"'):
                self._is_in_string, self._place, self._text = True, "key", byte
            case "colon", ":":
                self._place = "value"
            case "value", '"':
                self._is_in_string, self._text = True, byte
            case "value", ("{" | "["):
                self._open += byte
                self._text = None
            case "value", _ if _end(_SCALAR, part, at) > at:
                self._place, self._text = "scalar", ""
                return at
            case "after", ",":
                self._place = "key"
            case (("first key" | "after"), "}"):
                self._open, self._place = "", "end"
            case _:
                self._place = "wrong"
        return at + 1

    def _keep(self, part: bytes, begin: int, end: int) -> None:
        if self._text is not None and len(self._text) <= MOST:
            self._text += part[begin : min(end, begin + MOST + 1)].decode("latin-1")

    def _kept(self) -> Any:
        """The key or the value that was read; None where it is too long, or not plain."""
        if self._text is None or len(self._text) > MOST:
            return None
        try:
            return loads(self._text.encode("latin-1"))
        except ValueError:
            return None

    def _value_ended(self) -> None:
        key, self._key = self._key, None
        self._place = "after"
        if key == "id":
            given = self._kept()
            self._id = given if is_id(given) else None
            if self._has_id:
                self._place = "wrong"
            self._has_id = True
        elif key == "method":
            self._has_method = True
        elif key in ("result", "error"):
            self._is_reply = True


def _end(pattern: re.Pattern[bytes], part: bytes, at: int) -> int:
    """Where a pattern that matches nothing as well ends."""
    found = pattern.match(part, at)
    return at if found is None else found.end()
