"""Dates as people say them, on a Saturday in November."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_host_tasky.errors import Invalid
from mcp_host_tasky.model import parse_when

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("2026-11-28", "2026-11-28"),
        ("2026-11-28T17:00", "2026-11-28T16:00:00Z"),
        ("2026-07-01T17:00", "2026-07-01T15:00:00Z"),
        ("2026-11-28T17:00:30+05:30", "2026-11-28T11:30:30Z"),
        ("2026-11-28 17:00z", "2026-11-28T17:00:00Z"),
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
        ("in an hour", "2026-11-21T13:00:00Z"),
        ("next week", "2026-11-28"),
        ("next month", "2026-12-21"),
        ("in 3 months", "2027-02-21"),
        ("end of month", "2026-11-30"),
        ("end of the week", "2026-11-22"),
        ("nov 28", "2026-11-28"),
        ("1st february", "2027-02-01"),
        ("March 3rd, 2028", "2028-03-03"),
        ("tomorrow at 5pm", "2026-11-22T16:00:00Z"),
        ("friday 9:30", "2026-11-27T08:30:00Z"),
        ("12am", "2026-11-20T23:00:00Z"),
        ("tomorrow noon", "2026-11-22T11:00:00Z"),
        ("now", "2026-11-21T12:00:00Z"),
    ],
)
def test_words_mean_a_day_or_an_instant_in_the_projects_zone(said: str, meant: str) -> None:
    assert str(parse_when(said, NOW, BERLIN)) == meant


@pytest.mark.parametrize(
    "said",
    ["", "soon", "2026-02-30", "2026-13-01", "feb 30", "25:00", "13pm", "next", "in days", "m",
     "2026-11-28T", "99999999999 days ago", "in 99999 years", "0001-01-01"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_the_forms_that_are(said: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_when(said, NOW, BERLIN)

    assert "ISO 8601" in refused.value.suggestions[0]


@given(st.text(max_size=30) | st.from_regex(r"(in |next |last )?[0-9a-z]{1,6} ?[a-z]{0,8}( ago)?"))
def test_whatever_is_said_has_an_answer(said: str) -> None:
    try:
        meant = parse_when(said, NOW, BERLIN)
    except Invalid:
        return
    assert str(meant.end) >= str(meant.start)
