"""How long a service asks to be left alone."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header names (a number or a date), None without one."""
    if not header:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
