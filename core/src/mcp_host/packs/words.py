"""What is told of a value or an exception of a pack, whatever its own text is: bounded words."""

from __future__ import annotations

import traceback

REASON_BYTES = 2048
"""The longest reason, remedy, log message or other text for people that leaves a pack's side."""
TRACEBACK_BYTES = 16 * 1024
CAUSES = 5
FRAMES = 30


def text(value: object, limit: int = REASON_BYTES) -> str:
    """Return a value's text, cut to `limit` bytes of UTF-8; a value that has no text is named."""
    if type(value) is str and 4 * len(value) <= limit:
        return value
    try:
        whole = str.__str__(value) if isinstance(value, str) else str(value)
        whole = str.__str__(whole)  # whatever subclass of str a pack may return
    except BaseException as error:
        return f"a {type(value).__name__} whose text cannot be had ({type(error).__name__})"
    return cut(whole, limit)


def cut(whole: str, limit: int = REASON_BYTES) -> str:
    """Return a text cut to `limit` bytes of UTF-8, with a mark where something was cut."""
    if len(whole) * 4 <= limit:
        return whole
    data = whole[: limit + 1].encode("utf-8", "backslashreplace")
    if len(whole) <= limit and len(data) <= limit:
        return whole
    return data[: limit - 3].decode("utf-8", "ignore") + "…"


def trace(raised: BaseException) -> str:
    """Return the traceback of an exception and its nearest causes, within bounds."""
    parts: list[str] = []
    error: BaseException | None = raised
    for _ in range(CAUSES):
        if error is None:
            break
        frames = "".join(traceback.format_tb(error.__traceback__, -FRAMES))
        parts.append(f"{frames}{type(error).__qualname__}: {text(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return cut("\n\nbecause of\n\n".join(parts), TRACEBACK_BYTES)


def told(error: BaseException) -> str:
    """Return an exception in words: its class and its text."""
    return cut(f"{type(error).__name__}: {text(error)}")
