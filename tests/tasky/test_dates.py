"""Dates as people say them, on a Saturday in November."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st
from mcp_host_tasky.errors import InvalidError
from mcp_host_tasky.model import parse_when

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-11-28", "2026-11-28"),
        ("2026-11-28T17:00", "2026-11-28T17:00:00+01:00"),
        ("2026-07-01T17:00", "2026-07-01T17:00:00+02:00"),
        ("2026-11-28T17:00:30+05:30", "2026-11-28T12:30:30+01:00"),
        ("2026-11-28 17:00z", "2026-11-28T18:00:00+01:00"),
        ("today", "2026-11-21"),
        ("Tomorrow", "2026-11-22"),
        ("yesterday", "2026-11-20"),
        ("friday", "2026-11-27"),
        ("next  Friday", "2026-11-27"),
        ("saturday", "2026-11-28"),
        ("last monday", "2026-11-16"),
        ("last saturday", "2026-11-14"),
        ("in 3 days", "2026-11-24"),
        ("two weeks ago", "2026-11-07"),
        ("in an hour", "2026-11-21T14:00:00+01:00"),
        ("next week", "2026-11-28"),
        ("next month", "2026-12-21"),
        ("in 3 months", "2027-02-21"),
        ("end of month", "2026-11-30"),
        ("end of the week", "2026-11-22"),
        ("nov 28", "2026-11-28"),
        ("1st february", "2027-02-01"),
        ("March 3rd, 2028", "2028-03-03"),
        ("tomorrow at 5pm", "2026-11-22T17:00:00+01:00"),
        ("friday 9:30", "2026-11-27T09:30:00+01:00"),
        ("12am", "2026-11-22T00:00:00+01:00"),
        ("tomorrow noon", "2026-11-22T12:00:00+01:00"),
        ("now", "2026-11-21T13:00:00+01:00"),
        ("eod", "2026-11-21"),
        ("EOW", "2026-11-22"),
        ("by eom", "2026-11-30"),
        ("eoy", "2026-12-31"),
        ("by friday", "2026-11-27"),
        ("friday morning", "2026-11-27T09:00:00+01:00"),
        ("tomorrow evening", "2026-11-22T18:00:00+01:00"),
        ("this afternoon", "2026-11-21T15:00:00+01:00"),
        ("3 days from now", "2026-11-24"),
        ("in ten days", "2026-12-01"),
        ("in a couple of days", "2026-11-23"),
        ("+3d", "2026-11-24"),
        ("-3d", "2026-11-18"),
        ("2w", "2026-12-05"),
        ("4h", "2026-11-21T17:00:00+01:00"),
        ("5pm tomorrow", "2026-11-22T17:00:00+01:00"),
        ("at 5pm tomorrow", "2026-11-22T17:00:00+01:00"),
        ("17:30 on friday", "2026-11-27T17:30:00+01:00"),
        ("in 3 days at 5pm", "2026-11-24T17:00:00+01:00"),
        ("end of next month", "2026-12-31"),
        ("end of next week", "2026-11-29"),
        ("end of february", "2027-02-28"),
        ("end of november", "2026-11-30"),
        ("december", "2026-12-01"),
        ("november", "2027-11-01"),
        ("the 15th", "2026-12-15"),
        ("the 21st", "2026-11-21"),
        ("the 31st", "2026-12-31"),
        ("the 15th of december", "2026-12-15"),
        ("2026-12-01 5pm", "2026-12-01T17:00:00+01:00"),
        ("tomorrow at 5pm UTC", "2026-11-22T18:00:00+01:00"),
        ("feb 29", "2028-02-29"),
        ("5pm", "2026-11-21T17:00:00+01:00"),
        ("noon", "2026-11-22T12:00:00+01:00"),
        ("midnight", "2026-11-22T00:00:00+01:00"),
        ("tonight at midnight", "2026-11-22T00:00:00+01:00"),
    ],
)
def test_words_mean_a_day_or_an_instant_in_the_projects_zone(said: str, meant: str) -> None:
    assert str(parse_when(said, NOW, BERLIN)) == meant


@pytest.mark.parametrize(
    "said",
    ["", "soon", "friday UTC", "-3 days ago", "3", "the 32nd", "may be", "next next friday",
     "in a few days", "last night", "tomorrow at", "at", "end of the world", "2m", "2026-02-30",
     "2026-13-01", "feb 30", "25:00", "13pm", "next", "in days", "m", "2026-11-28T",
     "99999999999 days ago", "in 99999 years", "0001-01-01"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_the_forms_that_are(said: str) -> None:
    with pytest.raises(InvalidError) as refused:
        parse_when(said, NOW, BERLIN)

    assert "ISO 8601" in refused.value.suggestions[0]


@pytest.mark.parametrize(
    ("said", "meant", "remark"),
    [
        ("noon", "2026-11-22T12:00:00+01:00", "passed today"),
        ("midnight", "2026-11-22T00:00:00+01:00", "coming midnight"),
        ("friday midnight", "2026-11-27T00:00:00+01:00", "the beginning of 2026-11-27"),
        ("2027-03-28 02:30", "2027-03-28T03:30:00+02:00", "clocks go forward: 03:30"),
        ("2027-10-31 02:30", "2027-10-31T02:30:00+02:00", "comes twice"),
        ("tomorrow at 5pm", "2026-11-22T17:00:00+01:00", ""),
        ("2027-10-31T02:30+01:00", "2027-10-31T02:30:00+01:00", ""),
    ],
)
def test_what_could_mean_something_else_is_told(said: str, meant: str, remark: str) -> None:
    found = parse_when(said, NOW, BERLIN)

    assert str(found) == meant
    assert remark in (found.remark or "")
    assert bool(found.remark) == bool(remark)


@pytest.mark.parametrize(
    ("said", "now", "meant"),
    [
        ("2:45am", "2027-10-31T02:40+02:00", "2027-10-31T02:45:00+02:00"),
        ("2:30am", "2027-10-31T02:40+02:00", "2027-10-31T02:30:00+01:00"),
        ("2:45am", "2027-10-31T02:40+01:00", "2027-10-31T02:45:00+01:00"),
        ("2:30am", "2027-10-31T02:40+01:00", "2027-11-01T02:30:00+01:00"),
    ],
)
def test_a_time_that_comes_twice_is_the_next_of_both(said: str, now: str, meant: str) -> None:
    found = parse_when(said, datetime.fromisoformat(now), BERLIN)

    assert str(found) == meant
    assert found.remark


@pytest.mark.parametrize("said", ["midnight", "tomorrow at midnight", "midnight today"])
def test_a_midnight_that_clocks_pass_over_is_told_as_well_as_which_is_meant(said: str) -> None:
    zone = ZoneInfo("America/Sao_Paulo")

    found = parse_when(said, datetime(2018, 11, 3, 15, tzinfo=UTC), zone)

    assert str(found) == "2018-11-04T01:00:00-02:00"
    assert "is meant; there is no 00:00 on 2018-11-04" in (found.remark or "")


def test_this_morning_is_todays_also_when_it_is_over() -> None:
    found = parse_when("this morning", NOW, BERLIN)

    assert str(found) == "2026-11-21T09:00:00+01:00"
    assert found.remark == "that time has passed"


def test_utc_is_shown_in_short() -> None:
    assert str(parse_when("tomorrow at 5pm", NOW, UTC)) == "2026-11-22T17:00:00Z"


@given(st.text(max_size=30) | st.from_regex(r"(in |next |last )?[0-9a-z]{1,6} ?[a-z]{0,8}( ago)?"))
def test_whatever_is_said_has_an_answer(said: str) -> None:
    try:
        meant = parse_when(said, NOW, BERLIN)
    except InvalidError:
        return
    assert meant.end >= meant.start
