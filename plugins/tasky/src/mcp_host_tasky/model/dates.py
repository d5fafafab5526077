"""Dates as people and models say them, in a project's time zone.

ISO 8601 (`2026-11-28`, `2026-11-28T17:00`, with or without an offset) or English words: `today`,
`tomorrow`, `friday`, `next friday`, `by friday`, `in 3 days`, `3 days from now`, `+3d`, `2w`,
`2 weeks ago`, `next month`, `end of month`, `eod`, `eow`, `eom`, `end of next month`, `december`,
`nov 28`, `the 15th`, each with an optional time before or after it (`tomorrow at 5pm`,
`5pm tomorrow`, `friday morning`, `2026-12-01 5pm`, `tomorrow at 5pm UTC`). What can mean two things
is refused, or told in a remark.
"""

import calendar
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from ..errors import InvalidError

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = tuple(name.lower() for name in calendar.month_name)[1:]
_NUMBERS = {
    **dict.fromkeys(("a", "an", "one"), 1),
    "two": 2,
    "couple of": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fourteen": 14,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}
_UNITS = {
    **dict.fromkeys(("minute", "min"), "minutes"),
    **dict.fromkeys(("hour", "hr", "h"), "hours"),
    **dict.fromkeys(("day", "d"), "days"),
    **dict.fromkeys(("week", "wk", "w"), "weeks"),
    **dict.fromkeys(("month", "mo"), "months"),
    **dict.fromkeys(("year", "yr", "y"), "years"),
}
_OFFSET = re.compile(
    rf"(?:in\s+)?(?:a\s+(?=couple))?([+-]?\d+|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
    rf"\s*({'|'.join(sorted(_UNITS, key=len, reverse=True))})s?"
    r"(?:\s+(ago|from\s+(?:now|today)))?"
)
_CLOCK = r"(?:at\s+)?(?:(\d{1,2}):(\d{2})\s*(am|pm)?|(\d{1,2})\s*(am|pm)|(noon|midnight))"
_CLOCK_LAST = re.compile(rf"(?:^|\s+){_CLOCK}$")
_CLOCK_FIRST = re.compile(rf"^{_CLOCK}\s+(?:on\s+)?")
# Hours that the parts of a day are taken for.
_PARTS = {"morning": 9, "afternoon": 15, "evening": 18, "night": 21}
_PART_LAST = re.compile(rf"(?:^|\s+)(?:in\s+the\s+)?({'|'.join(_PARTS)})$")
_ZONE_LAST = re.compile(r"\s+(?:utc|gmt)$")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_LAST_YEAR = 9000
_ENDS = {"eod": "end of day", "eow": "end of week", "eom": "end of month", "eoy": "end of year"}
_FOLDS: tuple[Literal[0, 1], ...] = (0, 1)
_LEAP_YEARS = 8  # so far apart are two leap days at most


@dataclass(frozen=True, slots=True)
class Day:
    """A calendar day; its instants depend on the project's time zone. A remark says what else the
    words could have meant."""

    day: date
    zone: tzinfo
    remark: str | None = None

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
    """An instant, to the second, shown in the project's time zone."""

    at: datetime
    zone: tzinfo = UTC
    remark: str | None = None

    def __str__(self) -> str:
        shown = self.at.astimezone(self.zone).isoformat(timespec="seconds")
        return shown.replace("+00:00", "Z")

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
    """Return the day or instant that the text means; `InvalidError` names the forms it may have."""
    said = " ".join(text.lower().replace(",", " ").split())
    local = now.astimezone(zone)
    try:
        found = _iso(text.strip(), zone) or _spoken(said, local, zone)
        is_near = found is not None and 1970 <= found.start.year <= _LAST_YEAR
    except (ValueError, OverflowError):
        found, is_near = None, False
    if found is None or not is_near:
        raise InvalidError(
            f"{field} {text!r} is not a date.",
            reason="invalid_date",
            suggestions=[
                "Use ISO 8601 (2026-11-28 or 2026-11-28T17:00Z) or words: tomorrow, next friday, "
                "in 3 days, 2 weeks ago, end of month, nov 28, the 15th, tomorrow at 5pm."
            ],
        )
    return found


def _iso(text: str, zone: tzinfo) -> Day | Moment | None:
    if _ISO_DAY.fullmatch(text):
        return Day(date.fromisoformat(text), zone)
    if not re.match(r"\d{4}-\d{2}-\d{2}[tT ]\d{2}(:|$)", text):
        return None
    at = datetime.fromisoformat(text.replace("t", "T").replace("z", "Z"))
    if at.tzinfo:
        return Moment(at.astimezone(UTC), zone)
    return _instant(at.date(), at.time(), zone, zone)


def _spoken(said: str, local: datetime, zone: tzinfo) -> Day | Moment | None:
    if said == "now":
        return Moment(local.astimezone(UTC), zone)
    said = re.sub(r"^(?:by|on)\s+", "", said)
    shifted = _shifted(said, local, zone)
    if shifted or not said:
        return shifted
    spoken_in = UTC if _ZONE_LAST.search(said) else zone
    words, clock = _parted(_ZONE_LAST.sub("", said))
    if clock is None:
        # A zone says when an instant is; of a day it would only say which day, and not how.
        day = _day(words, local.date()) if spoken_in is zone else None
        return Day(day, zone) if day else None
    return _at(words, clock, local.astimezone(spoken_in), spoken_in, zone)


def _parted(said: str) -> tuple[str, time | None]:
    """Part the words of a day from the time, which stands before or after them."""
    if match := _CLOCK_LAST.search(said):
        return said[: match.start()], _clock(match)
    if match := _CLOCK_FIRST.match(said):
        return said[match.end() :], _clock(match)
    if match := _PART_LAST.search(said):
        return said[: match.start()], time(_PARTS[match.group(1)])
    return said, None


def _at(words: str, clock: time, local: datetime, spoken_in: tzinfo, zone: tzinfo) -> Moment | None:
    """Return the time of a day; without a day, the next time that it comes."""
    today = local.date()
    is_midnight = clock == time()
    if words in ("", "this"):
        for fold in _FOLDS:  # where clocks go back, a time comes a second time
            found = _instant(today, clock, spoken_in, zone, fold)
            if found.at > local:
                return found
        if words == "this":
            return replace(found, remark="that time has passed")
        tomorrow = _instant(today + timedelta(days=1), clock, spoken_in, zone)
        told = "the coming midnight" if is_midnight else "that time has passed today: tomorrow's"
        return _telling(f"{told} is meant", tomorrow)
    if is_midnight and words in ("today", "tonight"):
        found = _instant(today + timedelta(days=1), clock, spoken_in, zone)
        return _telling("the end of today is meant", found)
    day = _day(words, today)
    if day is None:
        return None
    found = _instant(day, clock, spoken_in, zone)
    if is_midnight:
        return _telling(f"the beginning of {day.isoformat()} is meant", found)
    return found


def _telling(what: str, found: Moment) -> Moment:
    """Return an instant that is told of in these words, and by what was told before."""
    return replace(found, remark=f"{what}; {found.remark}" if found.remark else what)


def _instant(
    day: date, clock: time, spoken_in: tzinfo, zone: tzinfo, fold: Literal[0, 1] = 0
) -> Moment:
    """Return an instant of local time; a remark tells where clocks are set forward or back. With
    `fold` it is the second of two, where a time comes twice."""
    naive = datetime.combine(day, clock.replace(tzinfo=None))
    first, second = (naive.replace(tzinfo=spoken_in, fold=one) for one in (0, 1))
    at = first.astimezone(UTC)
    remark = None
    if first.utcoffset() != second.utcoffset():
        said = naive.strftime("%H:%M")
        meant = at.astimezone(spoken_in)
        if meant.replace(tzinfo=None) == naive:
            which = "second" if fold else "first"
            at = second.astimezone(UTC) if fold else at
            remark = f"{said} comes twice on {day}, when clocks go back: the {which} is meant"
        else:
            later = meant.strftime("%H:%M")
            remark = f"there is no {said} on {day}, when clocks go forward: {later} is meant"
    return Moment(at, zone, remark)


def _shifted(said: str, local: datetime, zone: tzinfo) -> Day | Moment | None:
    """Return what lies so long before or after now."""
    match = _OFFSET.fullmatch(said)
    if match is None:
        return None
    word, unit, way = match.groups()
    count = _NUMBERS[word] if word in _NUMBERS else int(word)
    if way and word[0] in "+-":
        return None  # "-3 days ago" says it twice
    count = -count if way == "ago" else count
    kind = _UNITS[unit]
    if kind in ("months", "years"):
        return Day(_months_later(local.date(), count * (12 if kind == "years" else 1)), zone)
    step = timedelta(**{kind: count})
    if kind in ("minutes", "hours"):
        return Moment(local.astimezone(UTC) + step, zone)
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
    said = _ENDS.get(said, said)
    fixed = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2}
    if said in fixed:
        return today + timedelta(days=fixed[said])
    if _ISO_DAY.fullmatch(said):
        return date.fromisoformat(said)
    if said.startswith("end of "):
        return _end_of(said.removeprefix("end of ").removeprefix("the "), today)
    if said in ("this week", "this month", "this year"):
        return _end_of(said.removeprefix("this "), today)
    which, _, noun = said.rpartition(" ")
    if which in ("next", "last") and noun in ("week", "month", "year"):
        return _period(noun, today, 1 if which == "next" else -1)
    shifted = _shifted(said, datetime.combine(today, time(), UTC), UTC)
    if isinstance(shifted, Day):
        return shifted.day
    plain = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", said.removeprefix("the ")).replace(" of ", " ")
    is_ordinal = plain != said and plain.isdigit()
    found = _day_of_month(int(plain), today) if is_ordinal else _month_day(plain, today)
    return found or _weekday(which, noun, today) or _month(said, today)


def _period(noun: str, today: date, count: int) -> date:
    """Return the same day so many weeks, months or years from now."""
    if noun == "week":
        return today + timedelta(days=7 * count)
    return _months_later(today, count * (12 if noun == "year" else 1))


def _end_of(said: str, today: date) -> date | None:
    if said in ("day", "today", "tomorrow"):
        return today + timedelta(days=said == "tomorrow")
    noun = said.removeprefix("this ").removeprefix("next ")
    if noun in ("week", "month", "year"):
        day = _period(noun, today, 1) if said.startswith("next ") else today
        if noun == "week":
            return day + timedelta(days=6 - day.weekday())
        return _month_end(day) if noun == "month" else date(day.year, 12, 31)
    month = _named(said, _MONTHS)
    if month is None:
        return None
    return _month_end(date(today.year + (month + 1 < today.month), month + 1, 1))


def _weekday(which: str, noun: str, today: date) -> date | None:
    """`friday` is the coming one, never today; `next friday` is the same day, as most mean it."""
    weekday = _named(noun, _DAYS)
    if weekday is None or which not in ("", "next", "this", "on", "last"):
        return None
    if which == "last":
        return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def _day_of_month(number: int, today: date) -> date | None:
    """`the 15th`: the next one, today included."""
    if not 1 <= number <= 31:
        return None
    first = today.replace(day=1)
    for later in range(3):  # no two months in a row are short
        month = _months_later(first, later)
        if number <= _month_end(month).day and month.replace(day=number) >= today:
            return month.replace(day=number)
    return None


def _month(said: str, today: date) -> date | None:
    """`december`: its first day, the next time it comes."""
    month = _named(said, _MONTHS)
    if month is None:
        return None
    this_year = date(today.year, month + 1, 1)
    return this_year if this_year >= today else this_year.replace(year=today.year + 1)


def _month_day(said: str, today: date) -> date | None:
    """`nov 28`, `28 november`, `november 28 2027`: without a year, the next time it comes."""
    match = re.fullmatch(r"(?:([a-z]+) (\d{1,2})|(\d{1,2}) ([a-z]+))(?: (\d{4}))?", said)
    if not match:
        return None
    month = _named(match.group(1) or match.group(4), _MONTHS)
    if month is None:
        return None
    day = int(match.group(2) or match.group(3))
    if match.group(5):
        return date(int(match.group(5)), month + 1, day)
    for year in range(today.year, today.year + _LEAP_YEARS + 1):
        if day <= _month_end(date(year, month + 1, 1)).day and date(year, month + 1, day) >= today:
            return date(year, month + 1, day)
    return None


def _named(said: str, names: tuple[str, ...]) -> int | None:
    """Return which of the names is meant, by at least three of its letters."""
    matches = [n for n, name in enumerate(names) if len(said) >= 3 and name.startswith(said)]
    return matches[0] if len(matches) == 1 else None


def _month_end(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _months_later(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
