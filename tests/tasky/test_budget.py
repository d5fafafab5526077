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


def ids_of(service: Service, count: int) -> list[str]:
    """Make so many tasks and return their full ids."""
    made = service.create([{"name": f"T{n}"} for n in range(count)], ANN, view="full")
    return [str(view["task_id"]) for view in made.rows]


def test_a_row_shows_the_beginning_of_a_long_relation_and_one_task_all_of_it(
    service: Service,
) -> None:
    ids = ids_of(service, 170)
    edits = [
        {"action": "update", "task_id": one, "add_blockers": ids[:150]} for one in ids[150:161]
    ]
    page = service.edit(edits, ANN)

    assert len(page.rows) == 11
    assert size(page.rows) <= BUDGET
    blockers = page.rows[0]["blockers"]
    assert isinstance(blockers, list)
    assert (len(blockers), page.rows[0]["blockers_total"]) == (30, 150)
    (one,) = service.get(ids[150:151])
    assert one["blockers"] == one["blocked_by"] == sorted(ids[:150])
    assert "blockers_total" not in one
    for view in service.get(ids[150:152], view="full"):
        assert view["blockers"] == sorted(ids[:150])
    (written,) = service.edit([edits[0] | {"priority": 5}], ANN, view="full").rows
    assert written["blockers"] == sorted(ids[:150])


def test_related_tasks_that_do_not_fit_are_left_out_and_that_is_told(service: Service) -> None:
    ids = ids_of(service, 300)
    edit = {"action": "update", "task_id": ids[0], "add_blockers": ids[200:]}
    service.edit([edit], ANN)

    for fields in (None, ["name", "details"]):
        views = service.get(ids[:200], depth=1, fields=fields)
        assert size(views) <= BUDGET
        assert [view["task_id"] for view in views[:200]] == ids[:200]
        if len(views) < 300:
            assert views[0]["related_cut_at"] == len(views) - 200
        assert all(view["distance"] == 1 for view in views[200:])
    assert len(service.get(ids[:200], depth=1)) < 300


def test_several_answers_about_one_long_task_share_the_room(service: Service) -> None:
    (task,) = service.create([{"name": "Long", "details": LONG, "tags": ["q"]}], ANN).rows
    task_id, others = str(task["task_id"]), ids_of(service, 11)
    ten = [{"action": "update", "task_id": task_id, "priority": n % 5 + 1} for n in range(10)]
    short = [{"action": "update", "task_id": one, "priority": 5} for one in others]
    chosen = {"action": "next", "tags": ["q"]}

    page = service.edit(ten, ANN)
    assert len(page.rows) == 10
    assert size(page.rows) <= BUDGET
    assert all("get this task alone" in str(row["details"]) for row in page.rows)
    page = service.edit([chosen, *short], ANN)
    assert size(page.rows) <= BUDGET
    assert "get this task alone" in str(page.rows[0]["details"])
    assert page.rows[0]["claim_token"]
    assert page.total == 12
    service.edit([{"action": "release", "task_id": task_id}], ANN)
    (alone,) = service.edit([chosen], ANN, view="compact").rows
    assert alone["details"] == LONG.strip()


def test_several_tasks_with_long_notes_and_histories_are_named_all_the_same(
    service: Service,
) -> None:
    ids = ids_of(service, 8)
    for letter in "ab":
        notes = [
            {"action": "note", "task_id": one, "note": letter * 5_000}
            for one in ids
            for _ in range(4)
        ]
        service.edit(notes, ANN)
    service.edit([{"action": "update", "task_id": one, "details": LONG} for one in ids], ANN)

    views = service.get(ids)
    assert size(views) <= BUDGET
    assert [view["name"] for view in views] == [f"T{n}" for n in range(8)]
    notes = views[0]["notes"]
    assert isinstance(notes, list)
    assert views[0]["notes_total"] == 8
    texts = [note["text"] for note in notes]
    assert texts == [letter * 200 + "… [5,000 characters]" for letter in "abbbb"]
    past = service.get(ids, fields=["history"])
    assert size(past) <= BUDGET
    assert all(view["history"] for view in past)
    (whole,) = service.get(ids[:1])
    assert size(whole) > 80_000


def test_a_cursor_of_a_long_key_counts_and_a_dry_run_tells_what_it_leaves_out(
    service: Service,
) -> None:
    items = [{"name": f"task number {n:04}"} for n in range(300)]
    page = service.create(items, ANN, key="😀" * 200)
    assert size([page.rows, page.next_cursor]) <= BUDGET - 100
    following = service.search(ANN, cursor=page.next_cursor)
    assert following.rows[0]["name"] == f"task number {len(page.rows):04}"

    tried = service.create(items, ANN, dry_run=True)
    assert (tried.total, tried.next_cursor) == (300, None)
    assert f"only the first {len(tried.rows)} of 300" in str(tried.dates["warnings"])


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


def test_an_error_about_long_values_and_names_stays_short(service: Service) -> None:
    long = "x" * 50_000
    wrong = [{"name": "a", "priority": long}, {"name": [long]}, {"name": "a", long: 1}] * 10
    ring = [
        {"name": "n" * 499, "ref": f"r{n}", "blockers": [f"r{(n + 1) % 60}"]} for n in range(60)
    ]
    for items in (wrong, wrong[:1], ring):
        error = refusal(lambda: service.create(items, ANN))  # noqa: B023  called at once
        told = error.details["items"]
        assert isinstance(told, list)
        assert len(told) == min(len(items), 20)
        assert size(told) <= 14_000
        assert all(item["error"].endswith(".") and item["suggestions"] for item in told)


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
        ("sons so", "so", "sons **so**"),
        ("После по", "по", "После **по**"),
        ("some sons", "so", None),
    ],
    ids=lambda value: str(value)[-12:],  # pytest hands the id to every process in its environment
)
def test_a_snippet_shows_the_first_match_of_a_long_text(
    text: str, word: str, shown: str | None
) -> None:
    found = snippet(text, tuple(words_of(word)))

    assert found is None if shown is None else shown in str(found)
