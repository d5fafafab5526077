"""What a plan does on every store: the same tests on SQLite, JSON and a real PostgreSQL."""

from time import process_time
from typing import Any, cast

import pytest
from mcp_host_tasky.errors import ConflictError, InvalidError, NotFoundError
from mcp_host_tasky.service import Caller, Search, Tasks
from tasky_lab import ME, Plans, create, edit, get, items, names, refusal

ANN = Caller("ann")
BEN = Caller("ben")


def test_a_whole_plan_is_made_in_one_call_and_read_from_both_sides(plan: Tasks) -> None:
    made = plan.create(
        [
            {"ref": "ship", "name": "Ship", "blockers": ["build", "test"]},
            {"ref": "build", "name": "Build", "details": "With care", "priority": 5},
            {"ref": "test", "name": "Test", "subtask_of": "build", "tags": [" QA ", "qa", "slow"]},
        ],
        ME,
    )
    ship, build, test = (view["task_id"] for view in made)

    assert [view["ref"] for view in made] == ["ship", "build", "test"]
    assert made[0]["blockers"] == made[0]["blocked_by"] == sorted([build, test])  # type: ignore[type-var]
    assert made[1]["blocks"] == [ship]
    assert made[1]["subtasks"] == [test]
    assert (made[2]["subtask_of"], made[2]["tags"]) == (build, ["qa", "slow"])
    assert (made[1]["details"], made[2]["details"]) == ("With care", "N/A")
    assert names(plan, ready=True) == ["Build", "Test"]
    edit(plan, "complete", str(build))
    assert get(plan, str(ship))["blocked_by"] == [test]
    assert names(plan, ready=True) == ["Test"]


def test_a_changed_task_is_found_by_the_words_that_it_has_now(plan: Tasks) -> None:
    long = "w" * 600  # longer than some stores keep
    (one,) = create(plan, "Dig garden", details="the garden-shed, subway spade")

    edit(plan, "update", one, name="Spades way")
    found = [word for word in ("gard", "dig", "way", "subw", "spades") if names(plan, search=word)]
    edit(plan, "update", one, name="Later")
    found += [word for word in ("gard", "way", "spade", "spades") if names(plan, search=word)]
    edit(plan, "update", one, details=f"{long}a {long}b")
    edit(plan, "update", one, details=f"{long}b")
    found += [word for word in ("gard", "lat", f"{long}b") if names(plan, search=word)]

    assert found == ["gard", "way", "subw", "spades", "gard", "spade", "lat", f"{long}b"]
    assert plan.check() == []


def test_a_bulk_with_errors_names_every_failing_item_and_changes_nothing(plan: Tasks) -> None:
    one, two = create(plan, "One", "Two")
    edit(plan, "complete", two)
    before = plan.history(limit=100)
    operations: list[dict[str, Any]] = [
        {"task_id": one, "action": "update", "name": "Changed"},
        {"task_id": two, "action": "cancel"},
        {"task_id": one, "action": "explode"},
        {"task_id": one, "action": "update", "status": "open"},
        {"task_id": one, "action": "update", "due_date": "when pigs fly"},
        {"task_id": "00000000-0000-4000-8000-000000000000", "action": "complete"},
        {"task_id": "not an id", "action": "complete"},
        {"task_id": one, "action": "complete", "if_revision": 7},
        {"task_id": one, "action": "update", "name": "x" * 501},
        {"task_id": one, "action": "update", "priority": 6},
        {"task_id": one, "action": "update", "nmae": "typo"},
    ]

    error = refusal(lambda: plan.edit(operations, ME))

    assert [(item["index"], item["code"], item["reason"]) for item in items(error)] == [
        (1, "conflict", "invalid_transition"),
        (2, "validation_error", "invalid_action"),
        (3, "validation_error", "invalid_status"),
        (4, "validation_error", "invalid_date"),
        (5, "not_found", "task_not_found"),
        (6, "validation_error", "invalid_id"),
        (7, "conflict", "stale_revision"),
        (8, "validation_error", "text_too_long"),
        (9, "validation_error", "invalid_priority"),
        (10, "validation_error", "unknown_field"),
    ]
    assert (
        f"Cannot transition task '{two}' from completed to cancelled." in items(error)[0]["error"]
    )
    assert "pending, completed, cancelled" in items(error)[2]["suggestions"][0]
    assert items(error)[-1]["suggestions"] == ["Did you mean name?"]
    assert plan.history(limit=100) == before
    assert get(plan, one)["name"] == "One"


def test_ten_thousand_and_one_operations_are_refused_before_any(plan: Tasks) -> None:
    (one,) = create(plan, "One")

    error = refusal(lambda: plan.edit([{"task_id": one, "action": "complete"}] * 10_001, ME))

    assert isinstance(error, InvalidError)
    assert error.reason == "too_many_items"
    assert "10,000" in error.message
    assert get(plan, one)["status"] == "pending"


def test_a_cycle_is_refused_with_its_path(plan: Tasks) -> None:
    a, b, c = create(plan, "A", "B", "C")
    edit(plan, "update", b, blockers=[a])
    edit(plan, "update", c, blockers=[b])
    edit(plan, "update", b, subtask_of=a)

    waits = refusal(lambda: edit(plan, "update", a, blockers=[c]))
    parts = refusal(lambda: edit(plan, "update", a, subtask_of=b))
    itself = refusal(lambda: edit(plan, "update", a, blockers=[a]))
    new = refusal(
        lambda: plan.create(
            [
                {"name": "X", "ref": "x", "blockers": ["y"]},
                {"name": "Y", "ref": "y", "blockers": ["x"]},
            ],
            ME,
        )
    )

    assert items(waits)[0]["details"]["path"] == [a, c, b, a]
    assert "“A”" in waits.message
    assert "“C”" in waits.message
    assert items(parts)[0]["details"]["path"] == [a, b, a]
    assert items(itself)[0]["details"]["path"] == [a, a]
    assert {item["reason"] for item in items(new)} == {"cycle"}
    assert get(plan, a)["blockers"] == []


@pytest.mark.parametrize("field", ["subtask_of", "blockers"])
def test_what_leads_back_counts_as_it_is_now(plan: Tasks, field: str) -> None:
    def to(task_id: str, *others: str) -> dict[str, object]:
        said = list(others) if field == "blockers" else "".join(others)
        return {"task_id": task_id, "action": "update", field: said}

    top, middle, foot, other = create(plan, "Top", "Middle", "Foot", "Other")
    plan.edit([to(middle, top), to(foot, middle)], ME)

    kept = refusal(lambda: plan.edit([to(top, foot)], ME))
    made = refusal(lambda: plan.edit([to(other, foot), to(top, other)], ME))
    undone = refusal(lambda: plan.edit([to(foot), to(foot, middle), to(top, foot)], ME))
    plan.edit([to(foot), to(top, foot)], ME)

    assert [error.reason for error in (kept, made, undone)] == ["cycle"] * 3
    assert [items(error)[0]["index"] for error in (kept, made, undone)] == [0, 1, 2]
    assert get(plan, top)[field] == ([foot] if field == "blockers" else foot)


def test_a_chain_of_a_thousand_is_checked_for_cycles(plan: Tasks) -> None:
    chain = [
        {"name": f"{n}", "ref": f"r{n}", "blockers": [f"r{n - 1}"] if n else []}
        for n in range(1000)
    ]
    ids = [str(view["task_id"]) for view in plan.create(chain, ME)]

    error = refusal(lambda: edit(plan, "update", ids[0], blockers=[ids[-1]]))

    assert error.reason == "cycle"
    assert len(error.message) < 2_000


def test_prefixes_are_accepted_when_they_are_unique(plan: Tasks) -> None:
    ids = create(plan, *(f"Task {n}" for n in range(40)))
    shared = next(a for a in "0123456789abcdef" if sum(one.startswith(a) for one in ids) > 1)

    assert [view["task_id"] for view in plan.get([ids[0][:8], ids[1].upper()])] == ids[:2]
    assert edit(plan, "complete", ids[2][:9])["task_id"] == ids[2]
    error = refusal(lambda: edit(plan, "complete", shared))
    assert (error.code, error.reason) == ("validation_error", "ambiguous_id")
    assert any(one in line for line in error.suggestions for one in ids)
    assert isinstance(refusal(lambda: plan.get(["ffffffff-ffff"])), NotFoundError)


def test_repeating_a_state_changes_nothing(plan: Tasks) -> None:
    (one,) = create(plan, "One")
    first = edit(plan, "complete", one)

    again = edit(plan, "complete", one)

    assert again == first
    assert len(plan.history(one)) == 2


def test_a_call_with_its_key_is_done_once(plan: Tasks, plans: Plans) -> None:
    specs = [{"name": "Once"}]
    first = plan.create(specs, ME, idempotency_key="k1")
    plan.edit([{"action": "complete", "task_id": first[0]["task_id"]}], ME)

    assert plan.create(specs, ME, idempotency_key="k1") == first
    assert names(plan) == ["Once"]
    # A key is its caller's: whoever else uses the same one makes a call of their own.
    (theirs,) = plan.create(specs, ANN, idempotency_key="k1")
    assert theirs["task_id"] != first[0]["task_id"]
    other = refusal(lambda: plan.create([{"name": "Other"}], ME, idempotency_key="k1"))
    assert (other.code, other.reason) == ("conflict", "idempotency_key_reused")
    # A call that failed did nothing, so its key is free.
    refusal(lambda: plan.create([{"name": ""}], ME, idempotency_key="k2"))
    plan.create([{"name": "Fine"}], ME, idempotency_key="k2")
    # After a week a key is forgotten.
    plans.clock.forward(days=8)
    plan.create([{"name": "Sweep"}], ME, idempotency_key="k3")
    assert plan.create([{"name": "New"}], ME, idempotency_key="k1") != first


def test_a_dry_run_answers_as_the_call_would_and_keeps_nothing(plan: Tasks) -> None:
    one, two = create(plan, "One", "Two")
    operations = [
        {"task_id": one, "action": "update", "name": "Uno", "blockers": [two]},
        {"task_id": two, "action": "complete"},
    ]

    tried = plan.edit(operations, ME, dry_run=True)
    names_then = names(plan)
    done = plan.edit(operations, ME)

    assert names_then == ["One", "Two"]
    assert all(view.pop("dry_run") for view in tried)
    assert tried == done
    refused = refusal(lambda: plan.edit([{"task_id": two, "action": "cancel"}], ME, dry_run=True))
    assert isinstance(refused, ConflictError)


def test_one_of_two_gets_a_claim_and_a_lease_ends(plan: Tasks, plans: Plans) -> None:
    (one,) = create(plan, "One")
    claim = {"action": "claim", "task_id": one, "lease_seconds": 60}
    (held,) = plan.edit([claim], ANN)

    taken = refusal(lambda: plan.edit([claim], BEN))

    assert (taken.code, taken.reason) == ("conflict", "claimed")
    assert items(taken)[0]["details"]["claimed_by"] == "ann"
    assert get(plan, one)["claimed_by"] == "ann"
    assert (names(plan, ANN, ready=True), names(plan, BEN, ready=True)) == (["One"], [])
    (again,) = plan.edit([claim], ANN)
    assert again["claim_token"] == held["claim_token"]
    plans.clock.forward(seconds=59)
    renew = {"action": "renew", "task_id": one, "token": held["claim_token"], "lease_seconds": 60}
    plan.edit([renew], Caller("ann on another connection"))
    plans.clock.forward(seconds=59)
    assert refusal(lambda: plan.edit([claim], BEN)).reason == "claimed"
    plans.clock.forward(seconds=1)
    assert names(plan, BEN, ready=True) == ["One"]
    (his,) = plan.edit([claim], BEN)
    assert his["claimed_by"] == "ben"
    assert refusal(lambda: plan.edit([renew], ANN)).reason == "not_claimant"
    release = {"action": "release", "task_id": one}
    assert refusal(lambda: plan.edit([release], ANN)).reason == "not_claimant"
    plan.edit([release], BEN)
    plan.edit([release], BEN)  # safe to repeat
    assert "claimed_by" not in get(plan, one)


def test_a_proven_caller_claims_for_nobody_else(plan: Tasks) -> None:
    (one,) = create(plan, "One")
    proven = Caller("client-1", subject="ann")

    forged = refusal(
        lambda: plan.edit([{"action": "claim", "task_id": one, "agent": "ben"}], proven)
    )
    (held,) = plan.edit([{"action": "claim", "task_id": one, "agent": "ann"}], proven)

    assert (forged.code, forged.reason) == ("permission_denied", "agent_mismatch")
    assert held["claimed_by"] == "ann"
    namesake = refusal(lambda: edit(plan, "release", one, agent="ann"))
    assert namesake.reason == "not_claimant"
    plan.edit([{"action": "release", "task_id": one}], proven)
    assert edit(plan, "claim", one, agent="ben")["claimed_by"] == "ben"


def test_finishing_a_task_ends_its_claim(plan: Tasks) -> None:
    (one,) = create(plan, "One")
    edit(plan, "claim", one)

    assert "claimed_by" not in edit(plan, "complete", one)
    assert "claimed_by" not in edit(plan, "reopen", one)


def test_undo_takes_back_the_callers_last_call_whole(plan: Tasks) -> None:
    one, two, three = create(plan, "One", "Two", "Three")
    edit(plan, "update", two, blockers=[one])
    edit(plan, "update", three, subtask_of=one)
    plan.edit(
        [
            {"task_id": one, "action": "delete"},
            {"task_id": two, "action": "update", "priority": 1, "due_date": "tomorrow"},
        ],
        ANN,
    )
    assert get(plan, two)["blockers"] == []

    nothing = refusal(lambda: plan.edit([{"action": "undo"}], BEN))
    plan.edit([{"action": "undo"}], ANN)

    assert nothing.reason == "nothing_to_undo"
    restored = get(plan, two)
    assert (restored["blockers"], restored["priority"], restored["due_date"]) == ([one], 3, None)
    assert get(plan, three)["subtask_of"] == one
    assert get(plan, one)["blocks"] == [two]
    # The next undo of the same caller goes on to the call before; here there is none.
    assert refusal(lambda: plan.edit([{"action": "undo"}], ANN)).reason == "nothing_to_undo"


def test_undo_is_refused_where_a_task_changed_since(plan: Tasks) -> None:
    (one,) = create(plan, "One")
    plan.edit([{"task_id": one, "action": "update", "priority": 1}], ANN)
    plan.edit([{"task_id": one, "action": "update", "name": "Other"}], BEN)

    error = refusal(lambda: plan.edit([{"action": "undo"}], ANN))

    assert (error.code, error.reason) == ("conflict", "changed_since")
    plan.edit([{"action": "undo"}], BEN)
    plan.edit([{"action": "undo"}], ANN)
    assert (get(plan, one)["name"], get(plan, one)["priority"]) == ("One", 3)
    (event, *_) = plan.history(one)
    assert refusal(lambda: edit(plan, "undo", event_id=event["event_id"])).reason == "cannot_undo"


def test_a_tasks_own_last_change_is_undone_by_its_id(plan: Tasks) -> None:
    one, two = create(plan, "One", "Two")
    edit(plan, "update", one, priority=5)
    edit(plan, "delete", two)
    edit(plan, "claim", one)

    assert edit(plan, "undo", one[:8])["priority"] == 3
    assert edit(plan, "undo", two)["name"] == "Two"
    assert refusal(lambda: edit(plan, "undo", "f" * 8 + two[8:])).reason == "nothing_to_undo"


def test_the_log_tells_who_changed_what(plan: Tasks) -> None:
    (one,) = create(plan, "One")
    plan.edit([{"task_id": one, "action": "update", "name": "Uno", "priority": 4}], ANN)

    newest, oldest = plan.history(one)

    assert (newest["caller"], newest["action"], newest["revision"]) == ("ann", "update", 2)
    assert newest["changes"] == {"name": ["One", "Uno"], "priority": [3, 4]}
    assert (oldest["caller"], oldest["action"]) == ("me", "create")


def test_pages_follow_each_other_in_order_while_tasks_come_and_go(
    plan: Tasks, plans: Plans
) -> None:
    for number in range(7):
        due = ["2026-12-05", None, "2026-12-01"][number % 3]
        plan.create([{"name": f"T{number}", "priority": 1 + number % 2, "due_date": due}], ME)
        plans.clock.forward(seconds=1)
    first = plan.search(Search(limit=3), ME)
    plan.create([{"name": "Urgent", "priority": 5}], ME)

    second = plan.search(Search(limit=3, cursor=first.next_cursor), ME)
    third = plan.search(Search(limit=3, cursor=second.next_cursor), ME)

    found = [row["name"] for page in (first, second, third) for row in page.rows]
    assert found == ["T5", "T3", "T1", "T2", "T0", "T6", "T4"]
    assert (first.total, third.next_cursor) == (7, None)
    assert list(first.rows[0]) == ["task_id", "name", "status", "due_date", "priority"]
    wrong = refusal(lambda: plan.search(Search(status="pending", cursor=first.next_cursor), ME))
    assert wrong.reason == "invalid_cursor"
    assert refusal(lambda: plan.search(Search(cursor="!"), ME)).reason == "invalid_cursor"


def test_words_are_found_by_their_beginnings_whatever_their_case_and_accents(plan: Tasks) -> None:
    create(plan, "Crème brûlée", details="Serve COLD, with “berries”; don't burn the top_layer")
    create(plan, "Creation", "Straße 42")

    assert names(plan, search="creme BERR") == ["Crème brûlée"]
    assert names(plan, search="cre") == ["Crème brûlée", "Creation"]
    assert names(plan, search="layer cold") == ["Crème brûlée"]
    assert names(plan, search="strasse") == ["Straße 42"]
    assert names(plan, search="42") == ["Straße 42"]
    assert names(plan, search="4") == []  # one and two letters are whole words
    assert names(plan, search="cold soup") == []
    for hostile in ('"', "a OR b*", "x' & y:*", "NEAR(a b)", "%_", "cold)"):
        names_or_refusal(plan, hostile)
    (row,) = plan.search(Search(search="berr"), ME).rows
    assert "**berries**" in str(row["snippet"])
    (one,) = create(plan, "Ephemeral")
    edit(plan, "update", one, name="Renamed")
    assert (names(plan, search="ephemeral"), names(plan, search="renamed")) == ([], ["Renamed"])


def test_a_task_without_details_is_not_found_by_what_stands_in_their_place(plan: Tasks) -> None:
    create(plan, "Take a break")
    create(plan, "Read", details="Plan N/A")
    (cleared,) = create(plan, "Walk", details="a mile")
    edit(plan, "update", cleared, details="")

    assert names(plan, search="n") == ["Read"]
    assert names(plan, search="a") == ["Take a break", "Read"]
    row, _ = plan.search(Search(search="a"), ME).rows
    assert row["snippet"] == "Take **a** break"


def names_or_refusal(plan: Tasks, search: str) -> None:
    """Hostile words find something, nothing, or are refused; they break nothing."""
    try:
        names(plan, search=search)
    except InvalidError as error:
        assert error.reason == "invalid_search"


def test_filters_narrow_together(plan: Tasks, plans: Plans) -> None:
    create(plan, "Old", tags=["home"], due_date="2026-11-25")
    plans.clock.forward(days=2)
    create(plan, "New", tags=["home", "work"], priority=5, due_date="2026-11-25T08:00Z")
    create(plan, "Later", tags=["work"], due_date="in 3 weeks")

    assert names(plan, tags=["home"]) == ["New", "Old"]
    assert names(plan, tags=["home", "WORK"]) == ["New"]
    assert names(plan, created_after="today") == ["New", "Later"]
    assert names(plan, created_after="2 days ago") == ["New", "Old", "Later"]
    assert names(plan, due_before="2026-11-25") == ["New", "Old"]
    assert names(plan, due_before="2026-11-24") == []
    assert names(plan, due_before="2026-11-25T09:00Z") == ["New"]
    assert names(plan, priority=5, tags=["home"], search="new", status="pending") == ["New"]
    assert plan.search(Search(priority=5), ME).total == 1


def test_dates_are_the_projects_and_are_echoed(plans: Plans, kind: str) -> None:
    from zoneinfo import ZoneInfo

    plan = plans.open(kind, "zoned", zone=ZoneInfo("Pacific/Auckland"))  # Sunday already
    made = plan.create(
        [
            {"name": "Day", "due_date": "tomorrow"},
            {"name": "Instant", "due_date": "tomorrow at 5pm"},
            {"name": "Word", "due_date": "next friday"},
        ],
        ME,
    )

    dues = [view["due_date"] for view in made]
    assert dues == ["2026-11-23", "2026-11-23T17:00:00+13:00", "2026-11-27"]
    # The day ends in Auckland, at 10:59:59 UTC.
    assert names(plan, due_before="2026-11-23T10:59:58Z") == ["Instant"]
    assert names(plan, due_before="2026-11-23T10:59:59Z") == ["Instant", "Day"]
    assert str(plan.info()["today"]).startswith("2026-11-22")
    said = Search(created_after="yesterday", due_before="tomorrow at 5pm")
    assert plan.search(said, ME).dates == {
        "created_after": "2026-11-21",
        "due_before": "2026-11-23T17:00:00+13:00",
    }
    (late,) = plan.create([{"name": "Passed", "due_date": "1am"}], ME)  # it is 1am already
    assert (late["due_date"], len(late["warnings"])) == ("2026-11-23T01:00:00+13:00", 1)  # type: ignore[arg-type]
    assert "passed today" in str(late["warnings"])
    changed = edit(plan, "update", str(late["task_id"]), due_date="midnight")
    assert "coming midnight" in changed["warnings"][0]
    assert "coming midnight" in plan.search(Search(due_before="midnight"), ME).dates["warnings"]
    assert plan.search(Search(due_before="2026-11-23"), ME).dates == {}


@pytest.mark.parametrize(("first", "then"), [("up", "down"), ("down", "up")])
def test_long_chains_and_many_that_wait_are_joined_one_way_and_not_back(
    plan: Tasks, first: str, then: str
) -> None:
    """However much waits on either side, the walk from both finds the way that there is."""
    tasks = [
        {"name": f"{side} {n}", "ref": f"{side}{n}", "blockers": [f"{side}{n - 1}"] if n else []}
        for side in (first, then)
        for n in range(200)
    ]
    tasks += [{"name": f"waits {n}", "blockers": ["up100", "down100"]} for n in range(300)]
    made = [str(view["task_id"]) for view in plan.create(tasks, ME)]
    foot, end, other_foot, other_end = made[0], made[199], made[200], made[399]

    edit(plan, "update", other_foot, add_blockers=[end])
    back = refusal(lambda: edit(plan, "update", foot, add_blockers=[other_end]))
    middle = refusal(lambda: edit(plan, "update", made[100], add_blockers=[made[300]]))
    edit(plan, "update", made[300], add_blockers=[made[100]])

    facts = items(back)[0]["details"]
    assert (back.reason, facts["path_length"]) == ("cycle", 401)
    assert facts["path"][:2] == [foot, other_end]
    path = items(middle)[0]["details"]["path"]
    assert (path[:3], items(middle)[0]["details"]["path_length"]) == (
        [made[100], made[300], made[299]],
        202,
    )


@pytest.mark.parametrize("way", [1, -1])
def test_a_long_chain_is_checked_in_one_walk_and_its_circle_is_told_in_short(
    plan: Tasks, way: int
) -> None:
    count = 1_000
    chain: list[dict[str, Any]] = [{"name": f"T{n}", "ref": f"{n}"} for n in range(count)]
    for n, item in enumerate(chain):
        if 0 <= n - way < count:
            item |= {"blockers": [f"{n - way}"], "subtask_of": f"{n - way}"}
    began = process_time()
    made = plan.create(chain, ME, dry_run=True)
    # A walk for each task would take minutes; one for all takes a part of a second.
    assert (len(made), process_time() - began < 10) == (count, True)

    short = chain[:100] if way == 1 else chain[-100:]
    short[0 if way == 1 else -1]["blockers"] = [str(short[-1 if way == 1 else 0]["ref"])]
    for item in short:
        item.pop("subtask_of", None)
    error = refusal(lambda: plan.create(short, ME))
    told = cast(list[Any], error.details["items"])
    assert (error.reason, [item["index"] for item in told]) == ("cycle", list(range(20)))
    assert error.details["failed"] == 100
    facts = told[0]["details"]
    assert (len(facts["path"]), facts["path_length"]) == (20, 101)


def test_a_graph_is_followed_to_a_depth_and_no_further(plan: Tasks) -> None:
    chain = [
        {"name": f"T{n}", "ref": f"{n}", "blockers": [f"{n - 1}"] if n else []} for n in range(6)
    ]
    ids = [str(view["task_id"]) for view in plan.create(chain, ME)]

    found = plan.get([ids[0]], depth=2, fields=["name"])

    assert [(view["name"], view.get("distance")) for view in found] == [
        ("T0", None),
        ("T1", 1),
        ("T2", 2),
    ]
    assert all(set(view) <= {"task_id", "name", "distance"} for view in found)
    hub = plan.create([{"name": "Hub", "ref": "hub"}], ME)[0]["task_id"]
    plan.create([{"name": f"S{n}", "blockers": [hub]} for n in range(150)], ME)
    views = plan.get([str(hub)], depth=1)
    assert (len(views), views[0]["blocks_total"], len(views[0]["blocks"])) == (101, 150, 100)  # type: ignore[arg-type]
    claimed = edit(plan, "claim", str(hub))
    assert (claimed["blocks_total"], claimed["blocks"]) == (150, views[0]["blocks"])
    assert refusal(lambda: plan.get([ids[0]], fields=["colour"])).reason == "unknown_field"


def test_what_waits_for_a_task_looks_different_once_that_has_another_name_or_status(
    plan: Tasks,
) -> None:
    (hub,) = create(plan, "Hub")
    waiting = [create(plan, f"W{number}", blockers=[hub])[0] for number in range(3)]

    def touched(action: str, **fields: Any) -> list[str]:
        before = plan.last_event()
        edit(plan, action, hub, **fields)
        return plan.touched_after(before)

    assert touched("claim") == [hub]
    assert touched("note", note="Half of it is done.") == [hub]
    assert touched("update", details="Long", priority=5) == [hub]
    assert touched("update", name="Centre") == sorted([hub, *waiting])
    assert touched("complete") == sorted([hub, *waiting])
    assert touched("delete") == sorted([hub, *waiting])


def test_clearing_is_said_with_empty_text_and_null_says_nothing(plan: Tasks) -> None:
    (parent,) = create(plan, "Parent")
    (one,) = create(plan, "One", due_date="2026-12-01", details="Long", subtask_of=parent)

    kept = edit(plan, "update", one, priority=4, due_date=None, subtask_of=None, details=None)
    cleared = edit(plan, "update", one, due_date="", subtask_of="", details="")

    assert (kept["due_date"], kept["subtask_of"], kept["details"]) == ("2026-12-01", parent, "Long")
    assert (cleared["due_date"], cleared["subtask_of"], cleared["details"]) == (None, None, "N/A")


def test_counts_follow_every_change(plan: Tasks) -> None:
    one, two, _ = create(plan, "One", "Two", "Three")
    plan.edit([{"task_id": one, "action": "complete"}, {"task_id": two, "action": "cancel"}], ME)

    assert plan.info()["task_counts"] == {"pending": 1, "completed": 1, "cancelled": 1}
    plan.edit([{"action": "undo"}], ME)
    edit(plan, "delete", one)
    assert plan.info()["task_counts"] == {"pending": 2, "completed": 0, "cancelled": 0}
    assert plan.search(Search(status="pending"), ME).total == 2


def test_work_that_nobody_waits_for_is_not_kept(plan: Tasks) -> None:
    def gave_up() -> None:
        raise ConflictError("given up", reason="stopped")

    with pytest.raises(ConflictError):
        plan.create([{"name": "Late"}], ME, guard=gave_up)

    assert names(plan) == []


def test_another_opening_of_the_store_sees_every_write(plans: Plans, kind: str) -> None:
    ours, theirs = plans.open(kind), plans.open(kind)
    (one,) = create(ours, "One")
    edit(theirs, "update", one, name="Two")
    edit(ours, "update", one, priority=5)

    assert get(theirs, one)["name"] == get(ours, one)["name"] == "Two"
    assert (get(theirs, one)["revision"], theirs.last_event()) == (3, 3)
    plans.clock.forward(seconds=1)
    assert theirs.touched_after(2) == [one]


def test_a_large_call_is_answered_shortly(plan: Tasks) -> None:
    made = plan.create([{"name": f"T{n}", "details": "x" * 100} for n in range(250)], ME)

    assert len(made) == 250
    assert "details" not in made[0]
    assert plan.info()["total"] == 250
