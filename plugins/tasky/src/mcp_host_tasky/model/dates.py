"""Dates as people and models say them, in a project's time zone.

ISO 8601 (`2026-11-28`, `2026-11-28T17:00`, with or without an offset) or English words: `today`,
`tomorrow`, `yesterday`, `friday`, `next friday`, `in 3 days`, `2 weeks ago`, `next month`,
`end of month`, `nov 28`, each with an optional time (`tomorrow at 5pm`, `friday 17:00`).
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from ..errors import Invalid

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = tuple(name.lower() for name in calendar.month_name)[1:]
_UNITS = {"minute": "minutes", "hour": "hours", "day": "days", "week": "weeks"}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_TIME = re.compile(
    r"(?:\s+|^)(?:at\s+)?(?:(\d{1,2}):(\d{2})\s*(am|pm)?|(\d{1,2})\s*(am|pm)|(noon|midnight))$"
)
_OFFSET = re.compile(r"(?:in\s+)?(\d+|[a-z]+)\s+(minute|hour|day|week|month|year)s?(\s+ago)?")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LAST_YEAR = 9000


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day; its instants depend on the project's time zone."""

    day: date
    zone: tzinfo

    def __str__(self) -> str:
        return self.day.isoformat()

    @property
    def start(self) -> datetime:
        return datetime.combine(self.day, time(), self.zone).astimezone(UTC)

    @property
    def end(self) -> datetime:
        """The day's last second."""
        following = datetime.combine(self.day + timedelta(days=1), time(), self.zone)
        return following.astimezone(UTC) - timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant, to the second."""

    at: datetime

    def __str__(self) -> str:
        return seconds(self.at)

    @property
    def start(self) -> datetime:
        return self.at

    @property
    def end(self) -> datetime:
        return self.at


def seconds(at: datetime) -> str:
    """Return an instant as `2026-11-28T17:00:00Z` (20 characters)."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micros(at: datetime) -> str:
    """Return an instant as `2026-11-28T17:00:00.123456Z` (27 characters)."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_when(text: str, now: datetime, zone: tzinfo, field: str = "due_date") -> Day | Moment:
    """Return the day or instant that the text means; `Invalid` says which forms are understood."""
    said = " ".join(text.lower().replace(",", " ").split())
    local = now.astimezone(zone)
    try:
        found = _iso(text.strip(), zone) or _spoken(said, local, zone)
        is_near = found is not None and 1970 <= found.start.year <= _LAST_YEAR
    except (ValueError, OverflowError):
        found, is_near = None, False
    if found is None or not is_near:
        raise Invalid(
            f"{field} {text!r} is not a date.",
            reason="invalid_date",
            suggestions=[
                "Use ISO 8601 (2026-11-28 or 2026-11-28T17:00Z) or words: tomorrow, "
                "next friday, in 3 days, 2 weeks ago, end of month, tomorrow at 5pm."
            ],
        )
    return found


def _iso(text: str, zone: tzinfo) -> Day | Moment | None:
    if _ISO_DAY.fullmatch(text):
        return Day(date.fromisoformat(text), zone)
    if not _ISO_DAY.match(text):
        return None
    at = datetime.fromisoformat(text.replace("t", "T").replace("z", "Z"))
    return Moment((at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC))


def _spoken(said: str, local: datetime, zone: tzinfo) -> Day | Moment | None:
    if said == "now":
        return Moment(local.astimezone(UTC))
    offset = _OFFSET.fullmatch(said)
    shifted = _shifted(offset, local, zone) if offset else None
    if shifted or not said:
        return shifted
    clock = _TIME.search(said)
    day_words = said[: clock.start()] if clock else said
    day = _day(day_words or "today", local.date())
    if day is None:
        return None
    if clock is None:
        return Day(day, zone)
    return Moment(datetime.combine(day, _clock(clock), zone).astimezone(UTC))


def _shifted(match: re.Match[str], local: datetime, zone: tzinfo) -> Day | Moment | None:
    word, unit, ago = match.groups()
    count = int(word) if word.isdigit() else _NUMBERS.get(word)
    if count is None:
        return None
    count = -count if ago else count
    if unit in ("month", "year"):
        return Day(_months_later(local.date(), count * (12 if unit == "year" else 1)), zone)
    step = timedelta(**{_UNITS[unit]: count})
    if unit in ("minute", "hour"):
        return Moment(local.astimezone(UTC) + step)
    return Day(local.date() + step, zone)


def _clock(match: re.Match[str]) -> time:
    hour, minute, half, bare_hour, bare_half, name = match.groups()
    if name:
        return time(12 if name == "noon" else 0)
    value = int(hour or bare_hour)
    half = half or bare_half
    if half:
        if not 1 <= value <= 12:
            raise ValueError(f"{value}{half} is no time of day")
        value = value % 12 + (12 if half == "pm" else 0)
    return time(value, int(minute or 0))


def _day(said: str, today: date) -> date | None:
    fixed = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2}
    if said in fixed:
        return today + timedelta(days=fixed[said])
    if said in ("end of week", "end of the week", "this week"):
        return today + timedelta(days=6 - today.weekday())
    if said in ("end of month", "end of the month", "this month"):
        return _month_end(today)
    if said in ("end of year", "end of the year", "this year"):
        return date(today.year, 12, 31)
    periods = {"week": 7, "month": None, "year": None}
    which, _, noun = said.rpartition(" ")
    if which in ("next", "last") and noun in periods:
        sign = 1 if which == "next" else -1
        if noun == "week":
            return today + timedelta(days=7 * sign)
        return _months_later(today, sign * (12 if noun == "year" else 1))
    return _weekday(which, noun, today) or _month_day(said, today)


def _weekday(which: str, noun: str, today: date) -> date | None:
    """`friday` is the coming one, never today; `next friday` is the same day, as most mean it."""
    matches = [n for n, name in enumerate(_DAYS) if len(noun) >= 3 and name.startswith(noun)]
    if len(matches) != 1 or which not in ("", "next", "this", "on", "last"):
        return None
    if which == "last":
        return today - timedelta(days=(today.weekday() - matches[0] - 1) % 7 + 1)
    return today + timedelta(days=(matches[0] - today.weekday() - 1) % 7 + 1)


def _month_day(said: str, today: date) -> date | None:
    """`nov 28`, `28 november`, `november 28th 2027`: without a year, the next time it comes."""
    plain = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", said)
    match = re.fullmatch(r"(?:([a-z]+) (\d{1,2})|(\d{1,2}) ([a-z]+))(?: (\d{4}))?", plain)
    if not match:
        return None
    name = match.group(1) or match.group(4)
    months = [n for n, month in enumerate(_MONTHS, 1) if len(name) >= 3 and month.startswith(name)]
    if len(months) != 1:
        return None
    day = int(match.group(2) or match.group(3))
    if match.group(5):
        return date(int(match.group(5)), months[0], day)
    this_year = date(today.year, months[0], day)
    return this_year if this_year >= today else date(today.year + 1, months[0], day)


def _month_end(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _months_later(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
