"""What answers cost a model: rows, short ids, cut texts, and the way to all of it."""

import json
import unicodedata
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from mcp_host_tasky.model import snippet, words_of
from mcp_host_tasky.model.words import fold
from mcp_host_tasky.service import Caller, Listener, Plan, PlanSettings, Search, Service, Tasks
from mcp_host_tasky.storage import Home, Location, open_store
from tasky_lab import refusal

BUDGET = 20_000
ANN = Caller("ann")
NOBODY = Caller("web", is_proven=False)
LONG = "word and word " * 3_400  # 48 KB


@pytest.fixture(params=["sqlite", "json", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """What the tools call, on each kind of store."""
    home = Home.of_user({"HOME": str(tmp_path / "home"), "TZ": "UTC"})
    url = None
    if request.param == "postgresql":
        url = request.getfixturevalue("database")
    else:
        project = home.init(tmp_path, store=request.param, name="Budget")
        open_store(project.location).close()
    settings = PlanSettings(root=tmp_path, url=url, schema=f"budget_{uuid.uuid4().hex}")
    listener = Listener(lambda _: None, lambda: None, lambda: None)
    made = Service(settings, home, listener, str)
    yield made
    made.close()


def tasks(service: Service) -> Tasks:
    return service.tasks()


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def test_rows_leave_room_for_the_total_and_the_cursor_beside_them(service: Service) -> None:
    beside: list[Any] = []
    for length in range(20, 60):
        made = service.create([{"name": "n" * length} for _ in range(300)], ANN, dry_run=True)
        beside.append((made.rows, {"total": made.total, "next_cursor": made.next_cursor}))

    assert all(size(rows) + size(rest) <= BUDGET for rows, rest in beside)
    assert all(len(rows) < 300 for rows, _ in beside)


def test_up_to_ten_are_answered_in_full_and_more_as_rows_with_what_changed(
    service: Service,
) -> None:
    ten = service.create([{"name": f"T{n}", "ref": f"r{n}"} for n in range(10)], ANN)
    eleven = service.create(
        [{"name": f"T{n}", "ref": f"r{n}", "due_date": "2026-12-01"} for n in range(11)], ANN
    )

    assert all({"details", "blockers", "ref"} <= view.keys() for view in ten.rows)
    wanted = {"task_id", "ref", "name", "status", "revision", "due_date", "event_id"}
    assert [view.keys() for view in eleven.rows] == [wanted] * 11
    ids = [str(row["task_id"]) for row in eleven.rows]
    assert {len(one) for one in ids} == {8}
    edits = [{"action": "update", "task_id": one, "priority": 5} for one in ids]
    rows = service.edit(edits, ANN).rows
    assert rows[0]["priority"] == 5
    assert "details" not in rows[0]
    (row,) = service.edit([{"action": "complete", "task_id": ids[0]}], ANN, view="compact").rows
    assert row == {
        "task_id": ids[0],
        "name": "T0",
        "status": "completed",
        "revision": 3,
        "event_id": row["event_id"],
    }
    whole = service.edit(edits, ANN, view="full").rows
    assert all("details" in view and len(str(view["task_id"])) == 36 for view in whole)
    assert refusal(lambda: service.edit(edits, ANN, view="short")).reason == "invalid_view"


def test_a_writes_rows_that_do_not_fit_follow_by_cursor_and_total_counts_all(
    service: Service,
) -> None:
    for caller, key in ((ANN, None), (ANN, "mine"), (NOBODY, None)):
        items = [{"name": f"task number {n:04}"} for n in range(500)]
        page = service.create(items, caller, key=key)
        assert page.total == 500
        found, cursor, sizes = list(page.rows), page.next_cursor, [size(page.rows)]
        while cursor:
            following = service.search(caller, cursor=cursor)
            found, cursor = [*found, *following.rows], following.next_cursor
            sizes.append(size(following.rows))
            assert following.total == 500

        assert max(sizes) <= BUDGET
        assert min(sizes[:-1]) > BUDGET * 0.9
        assert [row["name"] for row in found] == [item["name"] for item in items]
        first = page.next_cursor
        other = refusal(lambda: service.search(Caller("somebody else"), cursor=first))  # noqa: B023  called at once
        assert other.reason == "invalid_cursor"


def test_a_list_ends_where_its_budget_does_and_goes_on_by_cursor(service: Service) -> None:
    names = [f"{n:03} " + "long name " * 40 for n in range(120)]
    service.create([{"name": name} for name in names], ANN)
    found: list[str] = []
    cursor = None
    while True:
        page = service.search(ANN, limit=200, cursor=cursor)
        assert size(page.rows) <= BUDGET
        assert page.total == 120
        found += [str(row["name"]) for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert found == [name.strip() for name in names]


def test_several_long_tasks_share_the_room_and_one_comes_whole(service: Service) -> None:
    items = [{"name": f"T{n}", "details": LONG} for n in range(9)] + [{"name": "Short"}]
    made = service.create(items, ANN)
    ids = [str(view["task_id"]) for view in made.rows]

    several = service.get(ids)

    assert size(made.rows) <= BUDGET
    assert BUDGET * 0.8 < size(several) <= BUDGET
    assert all("get this task alone, or with view full]" in str(v["details"]) for v in several[:9])
    assert several[9]["details"] == "N/A"
    assert service.get(ids[:1])[0]["details"] == LONG.strip()
    assert [view["details"] for view in service.get(ids[:2], view="full")] == [LONG.strip()] * 2


def test_two_hundred_tasks_with_relations_fit_as_well(service: Service) -> None:
    hub = str(service.create([{"name": "Hub"}], ANN).rows[0]["task_id"])
    many = [{"name": f"T{n}", "blockers": [hub], "details": "x" * 500} for n in range(199)]
    made = service.create(many, ANN, view="full")
    ids = [hub, *(str(view["task_id"]) for view in made.rows)]

    views = service.get(ids)
    near = service.get([hub], depth=1)

    assert size(views) <= BUDGET
    assert size(near) <= BUDGET
    assert [str(view["task_id"]) for view in views] == ids
    assert views[0]["blocks_total"] == 199
    assert "cut" in views[-1]


def test_an_ambiguous_beginning_is_refused_with_candidates(service: Service) -> None:
    page = service.create([{"name": f"T{n}"} for n in range(40)], ANN)
    ids = [str(row["task_id"]) for row in page.rows]
    shared = next(a for a in "0123456789abcdef" if sum(one.startswith(a) for one in ids) > 1)

    error = refusal(lambda: service.get([shared]))

    assert error.reason == "ambiguous_id"
    assert error.suggestions
    assert [view["name"] for view in service.get(ids)] == [f"T{n}" for n in range(40)]


def test_errors_list_twenty_items_and_a_count(service: Service) -> None:
    error = refusal(lambda: service.create([{"name": ""}] * 10_000, ANN))

    items = error.details["items"]
    assert isinstance(items, list)
    assert (len(items), error.details["failed"]) == (20, 10_000)
    assert size(error.details) < 5_000
    assert "10000 of 10000 tasks failed" in error.message.replace(",", "")


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ({"name": "x", "status": "completed"}, "A new task is pending"),
        ({"name": "x", "depends_on": []}, "Did you mean blockers?"),
        ({"title": "x"}, "Did you mean name?"),
        ({"name": "x", "due": "friday"}, "Did you mean due_date?"),
        ({"name": "x", "label": "a"}, "Did you mean tags?"),
        ({"name": "x", "priority": "4"}, "without quotes: 4"),
        ({"name": "x", "tags": "a"}, 'tags: ["…"]'),
        ({"name": "x", "zzz": 1}, "It takes: name"),
    ],
)
def test_a_hint_names_the_right_field(service: Service, item: dict[str, Any], hint: str) -> None:
    error = refusal(lambda: service.create([item], ANN))

    assert hint in error.suggestions[0]


def test_an_error_names_the_field_that_is_wrong(service: Service) -> None:
    blockers = refusal(lambda: service.create([{"name": "x", "blockers": ["zzz"]}], ANN))
    parent = refusal(lambda: service.create([{"name": "x", "subtask_of": "ffff0000"}], ANN))

    assert "blockers 'zzz' is not an id" in blockers.message
    assert "which subtask_of names" in parent.message


def test_a_count_ends_at_ten_thousand_and_says_so_on_every_page(tmp_path: Path) -> None:
    plan = Tasks(open_store(Location("sqlite", tmp_path / "plan")), Plan(name="Large"))
    for numbers in (range(10_000), range(10_000, 10_040)):
        plan.create([{"name": f"task {n:05}", "tags": ["a"]} for n in numbers], ANN)

    for wanted in ({"tags": ["a"]}, {"search": "task"}, {"ready": True}):
        first = plan.search(Search(**wanted, limit=1), ANN)  # type: ignore[arg-type]
        second = plan.search(Search(**wanted, limit=1, cursor=first.next_cursor), ANN)  # type: ignore[arg-type]
        assert [(page.total, page.has_more) for page in (first, second)] == [(10_000, True)] * 2
    all_of_it = plan.search(Search(status="pending"), ANN)
    assert (all_of_it.total, all_of_it.has_more) == (10_040, False)  # counters know it
    assert plan.search(Search(search="10039"), ANN).has_more is False
    plan.close()


@given(st.text())
def test_folded_letters_have_no_accents_in_any_script(text: str) -> None:
    letters = unicodedata.normalize("NFKD", text).casefold()

    assert fold(text) == "".join(one for one in letters if not unicodedata.combining(one))


@pytest.mark.parametrize(
    ("text", "word", "shown"),
    [
        ("x " * 24_000 + "needle", "needle", "**needle**"),
        ("é " * 24_000 + "Nadel", "nadel", "**Nadel**"),
        ("x" * 48_000, "needle", None),
        ("é" * 48_000 + " crème", "creme", "**crème**"),
        ("subneedle Needles", "needle", "subneedle **Needles**"),
        ("ÉNeedle needle", "needle", "ÉNeedle **needle**"),
        ("_needle_", "needle", "_**needle**_"),
        ("é" * 48_000 + " Мой ФАЙЛ", "фаил", "**ФАЙЛ**"),
        ("é" * 48_000 + " 각하", "각", "**각하**"),
        ("é ﬁne Straße", "fine", "**ﬁne**"),
        ("subprüfung Prüfung", "prufung", "subprüfung **Prüfung**"),
        ("é" * 48_000 + " 𝒳y", "xy", "**𝒳y**"),
    ],
    ids=lambda value: str(value)[-12:],  # pytest hands the id to every process in its environment
)
def test_a_snippet_shows_the_first_match_of_a_long_text(
    text: str, word: str, shown: str | None
) -> None:
    found = snippet(text, tuple(words_of(word)))

    assert found is None if shown is None else shown in str(found)
