"""Text as the format reads it: its white space, its line ends, its fenced blocks.

The reference tool runs on JavaScript, whose regular expressions count other characters as white
space and as line ends than Python's do. Every pattern of this pack is therefore built from the
classes below, never from `\\s`, `.` or `str.strip()`.
"""

import re
from bisect import bisect_left
from functools import cached_property
from typing import Any, Final, cast

WHITE: Final = (
    "\t\n\v\f\r \u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""All white space, for `str.strip`."""

S: Final = "[" + WHITE + "]"
"""One white space character, in a pattern."""

NOT_S: Final = "[^" + WHITE + "]"
"""One character that is not white space, in a pattern."""

ANY: Final = "[^\n\r\u2028\u2029]"
"""Any character but a line end, in a pattern."""

BOL: Final = "(?<![^\n\r\u2028\u2029])"
"""The begin of a line in a text of many lines, in a pattern."""

EOL: Final = "(?=[\n\r\u2028\u2029]|\\Z)"
"""The end of a line in a text of many lines, in a pattern."""


class _LazyPattern:
    """Compiles a pattern when it is first used.

    No command uses more than some of this pack's patterns, and to compile all of them costs as
    much processor time as most commands do.
    """

    def __init__(self, source: str, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)  # from now on an attribute like any other
        return found


def pattern(source: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """A pattern in which only ASCII letters match regardless of case."""
    flags = re.ASCII | re.IGNORECASE if ignore_case else re.ASCII
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


_FENCE_OPEN: Final = pattern(rf"{S}*(`{{3,}}|~{{3,}})")
_FENCE_CLOSE: Final = pattern(rf"{S}*(`{{3,}}|~{{3,}}){S}*\Z")
_LINE_END: Final = pattern("\r\n?")
_KEYWORD: Final = pattern(r"\b(?:SHALL|MUST)\b")


def decode(data: bytes) -> str:
    """Read bytes as UTF-8; what is not UTF-8 becomes U+FFFD. A byte order mark stays."""
    return data.decode("utf-8", errors="replace")


def is_utf8(data: bytes) -> bool:
    """Say whether the bytes are UTF-8 throughout."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def unify_line_ends(text: str) -> str:
    """Turn CRLF and CR into LF."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def normalise(text: str) -> str:
    """Drop one leading byte order mark and turn every line end into LF."""
    return unify_line_ends(text.removeprefix("\ufeff"))


def trim(text: str) -> str:
    """Strip white space, as the format counts it, from both ends."""
    return text.strip(WHITE)


def trim_end(text: str) -> str:
    """Strip white space, as the format counts it, from the end."""
    return text.rstrip(WHITE)


def length(text: str) -> int:
    """Count UTF-16 units, which is how the reference tool measures length."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def code_unit_key(text: str) -> bytes:
    """Sort key: by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def has_keyword(text: str) -> bool:
    """Say whether SHALL or MUST stands in the text as a word of its own."""
    return _KEYWORD.search(text) is not None


def line_ending(text: str) -> str | None:
    """Name the line end most of a text uses (CRLF wins a tie); None where it has no line end."""
    crlf = text.count("\r\n")
    bare = text.count("\n") - crlf
    if not crlf and not bare:
        return None
    return "\r\n" if crlf >= bare else "\n"


def with_line_ending(text: str, ending: str | None) -> str:
    """Rewrite every line end of a text; None leaves the text alone."""
    if ending is None:
        return text
    unified = text.replace("\r\n", "\n")
    return unified if ending == "\n" else unified.replace("\n", "\r\n")


class FenceMask:
    """Which lines lie in a fenced code block, the two fence lines included.

    `unclosed` is the index of the opening line of a block that never ends, if there is one.
    """

    __slots__ = ("inside", "unclosed")

    def __init__(self, inside: bytes, unclosed: int | None) -> None:
        self.inside = inside
        self.unclosed = unclosed

    def __getitem__(self, index: int) -> bool:
        return bool(self.inside[index])

    def part(self, start: int, end: int) -> "FenceMask":
        """The mask of a slice of the lines."""
        return FenceMask(self.inside[start:end], None)


def fence_mask(lines: list[str]) -> FenceMask:
    """Find the fenced blocks. A block that is never closed runs to the end."""
    inside = bytearray(len(lines))
    text = "\n".join(lines)
    if "```" not in text and "~~~" not in text:
        return FenceMask(bytes(inside), None)
    opened_at: int | None = None
    marker = ""
    for index, line in enumerate(lines):
        if opened_at is None:
            if ("```" in line or "~~~" in line) and (opening := _FENCE_OPEN.match(line)):
                opened_at, marker = index, opening[1]
                inside[index] = 1
            continue
        inside[index] = 1
        if marker[0] in line and (closing := _FENCE_CLOSE.match(line)):
            run = closing[1]
            if run[0] == marker[0] and len(run) >= len(marker):
                opened_at = None
    return FenceMask(bytes(inside), opened_at)


class Lines:
    """A text by lines, with what every reader of it needs to know about them."""

    def __init__(self, text: str) -> None:
        self.lines: Final = text.split("\n")

    @cached_property
    def mask(self) -> FenceMask:
        """The fenced blocks."""
        return fence_mask(self.lines)

    @cached_property
    def heads(self) -> list[int]:
        """The indices of all lines outside fenced blocks that begin with `#`."""
        inside = self.mask.inside
        return [i for i, line in enumerate(self.lines) if line[:1] == "#" and not inside[i]]

    def heads_between(self, start: int, end: int) -> list[int]:
        """Those of the heads from one index up to, and without, another."""
        return self.heads[bisect_left(self.heads, start) : bisect_left(self.heads, end)]


def unfenced(text: str) -> list[str]:
    """The lines of a text that lie outside fenced blocks."""
    lines = unify_line_ends(text).split("\n")
    mask = fence_mask(lines)
    return [line for index, line in enumerate(lines) if not mask[index]]


def single_blanks(text: str) -> str:
    """Turn runs of empty lines outside fenced blocks into one."""
    if "\n\n\n" not in text and not text.startswith("\n\n"):
        return text
    lines = text.split("\n")
    mask = fence_mask(lines)
    kept: list[str] = []
    after_blank = False
    for index, line in enumerate(lines):
        blank = line == "" and not mask[index]
        if not (blank and after_blank):
            kept.append(line)
        after_blank = blank
    return "\n".join(kept)
