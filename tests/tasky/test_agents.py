"""Who an agent is, and what its claim keeps others from, on every kind of store."""

from datetime import timedelta
from typing import Any

import pytest
from mcp_host_tasky.service import Caller, Plan, Search, Tasks
from mcp_host_tasky.service.formats import named
from mcp_host_tasky.storage import open_store
from tasky_lab import ME, Plans, create, edit, get, items, names, refusal

ANN = Caller("claude", connection="a" * 32)
BEN = Caller("claude", connection="b" * 32)
NOBODY = Caller("claude", is_proven=False)
RANDOM_KEY = "0b54b2c6-1c37-4a6f-9d0c-6d8fb2a3f7c1"


def one(plan: Tasks, caller: Caller, action: str, task_id: str = "", **more: Any) -> dict[str, Any]:
    given = {"task_id": task_id} if task_id else {}
    (view,) = plan.edit([{**given, "action": action, **more}], caller)
    return view


def reason(plan: Tasks, caller: Caller, action: str, task_id: str = "", **more: Any) -> str:
    error = refusal(lambda: one(plan, caller, action, task_id, **more))
    return str(items(error)[0]["reason"])


def test_two_connections_with_one_name_are_two_agents(plan: Tasks) -> None:
    (task,) = create(plan, "Dig")
    one(plan, ANN, "claim", task, agent="worker")

    assert reason(plan, BEN, "claim", task, agent="worker") == "claimed"
    assert reason(plan, ANN, "claim", task) == "claimed"
    assert reason(plan, ANN, "complete", task, agent="other") == "claimed"
    assert reason(plan, BEN, "release", task, agent="worker") == "not_claimant"
    assert one(plan, ANN, "complete", task, agent="worker")["status"] == "completed"


def test_who_is_proven_by_nothing_holds_a_claim_by_its_token_alone(plan: Tasks) -> None:
    first, second = create(plan, "Dig", "Sow")
    held = one(plan, NOBODY, "claim", first)
    named = one(plan, NOBODY, "claim", second, agent="ann")
    token = held["claim_token"]

    assert held["claimed_by"].startswith("claude-")
    assert named["claimed_by"] == "ann"
    assert reason(plan, NOBODY, "claim", second, agent="ann") == "claimed"
    for action in ("claim", "complete", "cancel", "delete"):
        assert reason(plan, NOBODY, action, first) == "claimed"
    for action in ("renew", "release"):
        assert reason(plan, NOBODY, action, first) in ("claimed", "not_claimant")
    assert reason(plan, NOBODY, "complete", first, token=named["claim_token"]) == "not_claimant"
    assert names(plan, NOBODY, ready=True) == []
    one(plan, NOBODY, "renew", first, token=token)
    assert one(plan, NOBODY, "complete", first, token=token)["status"] == "completed"


def test_who_is_proven_by_nothing_undoes_only_what_its_token_shows(plan: Tasks) -> None:
    made, other = (plan.create([{"name": name}], NOBODY)[0] for name in ("Mine", "Somebody else's"))
    event, token = made["event_id"], made["undo_token"]

    assert reason(plan, NOBODY, "undo") == "undo_token_required"
    assert reason(plan, NOBODY, "undo", str(made["task_id"])) == "undo_token_required"
    assert reason(plan, NOBODY, "undo", event_id=event) == "undo_token_required"
    assert reason(plan, NOBODY, "undo", undo_token=token) == "undo_token_required"
    wrong = {"event_id": event, "undo_token": other["undo_token"]}
    assert reason(plan, NOBODY, "undo", **wrong) == "wrong_undo_token"
    one(plan, NOBODY, "undo", event_id=event, undo_token=token)
    assert names(plan) == ["Somebody else's"]
    (proven,) = plan.create([{"name": "Proven"}], ANN)
    assert "undo_token" not in proven
    assert token not in str(plan.history(limit=100))


def test_a_claim_fences_what_would_end_the_task_and_warns_of_the_rest(plan: Tasks) -> None:
    task, made = create(plan, "Dig", "Sow")
    held = one(plan, ANN, "claim", task)
    before = get(plan, task)

    for action in ("complete", "cancel", "delete"):
        assert reason(plan, BEN, action, task) == "claimed"
    assert reason(plan, BEN, "update", task, status="completed") == "claimed"
    assert reason(plan, BEN, "undo", task) == "claimed"  # it would take the task itself back
    assert get(plan, task) == before
    (warning,) = one(plan, BEN, "update", task, priority=5)["warnings"]
    assert held["claimed_by"] in warning
    assert "warnings" not in one(plan, ANN, "update", task, priority=4)
    assert "warnings" not in one(plan, BEN, "update", made, priority=5)
    (forced,) = plan.edit([{"action": "complete", "task_id": task}], BEN, force=True)
    assert forced["status"] == "completed"


def test_an_expired_holder_that_shows_its_token_is_refused(plan: Tasks, plans: Plans) -> None:
    (task,) = create(plan, "Dig")
    token = one(plan, ANN, "claim", task, lease_seconds=60)["claim_token"]
    plans.clock.forward(seconds=60)

    late: dict[str, dict[str, Any]] = {"complete": {}, "cancel": {}, "delete": {}, "renew": {}}
    late |= {"update": {"priority": 5}, "release": {}}
    for action, more in late.items():
        assert reason(plan, ANN, action, task, token=token, **more) == "not_claimant"
    theirs = one(plan, BEN, "claim", task)["claim_token"]
    for action, more in late.items():
        assert reason(plan, ANN, action, task, token=token, **more) == "not_claimant"
    assert reason(plan, ANN, "claim", task, token=token) == "not_claimant"
    one(plan, BEN, "release", task, token=theirs)
    for action, more in late.items():  # nobody holds it now
        assert reason(plan, ANN, action, task, token=token, **more) == "not_claimant"
    assert one(plan, ANN, "release", task)["status"] == "pending"  # without it that is already so
    theirs = one(plan, BEN, "claim", task)["claim_token"]
    assert one(plan, BEN, "complete", task, token=theirs)["status"] == "completed"
    assert one(plan, BEN, "complete", task, token=theirs)["status"] == "completed"  # a repetition
    assert one(plan, BEN, "release", task, token=theirs)["status"] == "completed"


@pytest.mark.parametrize("fraction", [0, 1, 930_000, 999_999])
def test_a_lease_lasts_as_long_as_it_says(plan: Tasks, plans: Plans, fraction: int) -> None:
    (task,) = create(plan, "Dig")
    plans.clock.forward(microseconds=fraction)
    one(plan, ANN, "claim", task, lease_seconds=1)

    plans.clock.forward(microseconds=999_999)
    assert reason(plan, BEN, "claim", task) == "claimed"
    plans.clock.forward(seconds=1)
    assert one(plan, BEN, "claim", task)["claimed_by"] == "claude"


def test_the_longest_lease_is_no_wrong_clocks(plan: Tasks, plans: Plans) -> None:
    (task,) = create(plan, "Dig")
    plans.clock.forward(microseconds=1)
    one(plan, ANN, "claim", task, lease_seconds=604_800)

    assert reason(plan, BEN, "claim", task) == "claimed"
    assert names(plan, BEN, claimed_by="*") == ["Dig"]


def test_a_token_that_proves_nothing_any_more_is_refused_where_nobody_holds_the_task(
    plan: Tasks,
) -> None:
    (task,) = create(plan, "Dig")
    token = one(plan, ANN, "claim", task)["claim_token"]
    one(plan, ANN, "release", task)

    for caller, shown in ((ANN, token), (NOBODY, token), (NOBODY, "invented")):
        assert reason(plan, caller, "claim", task, token=shown) == "not_claimant"
    assert "claimed_by" not in get(plan, task)
    assert one(plan, ANN, "claim", task)["claim_token"] != token


def test_an_undo_of_what_somebody_else_holds_warns(plan: Tasks) -> None:
    (task,) = create(plan, "Dig")
    changed = one(plan, ANN, "update", task, priority=5)
    one(plan, BEN, "claim", task)

    undone = one(plan, ANN, "undo", event_id=changed["event_id"])

    assert (undone["priority"], len(undone["warnings"])) == (3, 1)
    assert "holds this task" in undone["warnings"][0]
    (held,) = plan.get([task], fields=["claimed_by", "priority"])
    assert held == {"task_id": task, "claimed_by": "claude", "priority": 3}


def test_after_a_restart_an_agent_takes_its_claim_up_again_with_its_token(plan: Tasks) -> None:
    (task,) = create(plan, "Dig")
    token = one(plan, ANN, "claim", task)["claim_token"]
    again = Caller("claude", connection="c" * 32)

    assert reason(plan, again, "claim", task) == "claimed"
    assert one(plan, again, "claim", task, token=token)["claim_token"] == token
    assert names(plan, again, claimed_by="me") == ["Dig"]
    assert names(plan, ANN, claimed_by="me") == []
    assert reason(plan, ANN, "complete", task) == "claimed"
    assert one(plan, again, "complete", task)["status"] == "completed"


def test_a_claim_raises_the_revision_that_answers_show(plan: Tasks) -> None:
    (task,) = create(plan, "Dig")
    seen = get(plan, task)["revision"]

    claimed = one(plan, ANN, "claim", task)["revision"]

    assert claimed == get(plan, task)["revision"] == seen + 1
    stale = refusal(lambda: one(plan, BEN, "update", task, priority=5, if_revision=seen))
    assert items(stale)[0]["details"] == {"revision": claimed}
    one(plan, ANN, "renew", task)
    assert one(plan, ANN, "release", task)["revision"] == claimed
    one(plan, ANN, "update", task, priority=5, if_revision=claimed)
    assert one(plan, ANN, "undo")["priority"] == 3


def test_a_search_shows_and_finds_who_holds_what(plan: Tasks, plans: Plans) -> None:
    ids = create(plan, "Dig", "Sow", "Reap", "Rest")
    for task, more in zip(ids, ({}, {"agent": "sub"}, {"lease_seconds": 1}), strict=False):
        one(plan, ANN, "claim", task, **more)
    plans.clock.forward(seconds=1)
    rows = plan.search(Search(), BEN).rows

    assert [row.get("claimed_by") for row in rows] == ["claude", "sub", None, None]
    assert list(rows[3]) == ["task_id", "name", "status", "due_date", "priority"]
    assert names(plan, ANN, claimed_by="me") == ["Dig", "Sow"]
    assert names(plan, BEN, claimed_by="me") == []
    assert names(plan, BEN, claimed_by="sub") == ["Sow"]
    assert names(plan, BEN, claimed_by="sub", search="dig") == []
    assert plan.search(Search(claimed_by="claude"), BEN).total == 1
    assert refusal(lambda: names(plan, NOBODY, claimed_by="me")).reason == "unknown_caller"


def test_next_chooses_claims_and_shows_in_full(plan: Tasks) -> None:
    first, second, waits = create(plan, "First", "Second", "Waits", details="Long " * 50)
    plan.edit(
        [
            {"task_id": waits, "action": "update", "blockers": [first], "priority": 5},
            {"task_id": second, "action": "update", "add_tags": ["code"]},
        ],
        ME,
    )

    tagged = one(plan, ANN, "next", tags=["CODE"])
    taken = one(plan, BEN, "next", lease_seconds=60)

    assert (tagged["name"], taken["name"]) == ("Second", "First")
    assert taken["details"] == ("Long " * 50).strip()
    assert {"claim_token", "blocks", "claimed_until", "event_id"} <= taken.keys()
    assert reason(plan, ANN, "next") == "nothing_ready"
    done, following = plan.edit([{"action": "complete", "task_id": first}, {"action": "next"}], BEN)
    assert (done["status"], following["name"]) == ("completed", "Waits")


def test_several_next_in_one_call_take_different_tasks(plan: Tasks) -> None:
    create(plan, *(f"T{n:03}" for n in range(120)))

    taken = plan.edit([{"action": "next", "agent": f"a{n}"} for n in range(110)], ANN)

    assert [view["name"] for view in taken] == [f"T{n:03}" for n in range(110)]
    assert names(plan, BEN, ready=True) == [f"T{n:03}" for n in range(110, 120)]


def test_notes_are_added_with_author_and_time_and_stay(plan: Tasks, plans: Plans) -> None:
    (task,) = create(plan, "Dig")
    edit(plan, "update", task, priority=5)
    token = one(plan, ANN, "claim", task)["claim_token"]
    one(plan, BEN, "note", task, note=" The spade is in the shed. ")
    plans.clock.forward(seconds=5)
    one(plan, ANN, "release", task, note="Half done", token=token)

    notes = get(plan, task)["notes"]

    assert [(note["by"], note["text"]) for note in notes] == [
        ("claude", "The spade is in the shed."),
        ("claude", "Half done"),
    ]
    assert notes[0]["at"] < notes[1]["at"]
    assert reason(plan, BEN, "note", task) == "invalid_note"
    assert reason(plan, BEN, "note", task, note=" ") == "invalid_note"
    # What was changed before a note can be undone, the note cannot.
    assert edit(plan, "undo", task)["priority"] == 3
    note_event = next(one for one in plan.history(task) if one["action"] == "note")
    assert reason(plan, BEN, "undo", event_id=note_event["event_id"]) == "cannot_undo"
    edit(plan, "delete", task)
    assert edit(plan, "undo")["notes"] == notes
    assert len(get(plan, task)["notes"]) == 2


def test_notes_go_with_an_export(plans: Plans, plan: Tasks, kind: str) -> None:
    (task,) = create(plan, "Dig")
    one(plan, BEN, "note", task, note="The spade is in the shed.")
    other = plans.open(kind, "elsewhere")

    tasky = named("tasky")
    other.bring_in(tasky.read(plan.taken_out(tasky)), "tasky", ME)

    assert get(other, task)["notes"] == get(plan, task)["notes"]


def test_tags_and_blockers_are_added_and_removed(plan: Tasks) -> None:
    task, first, second = create(plan, "Dig", "One", "Two", tags=["a"])

    edit(plan, "update", task, add_tags=["B", "c"], remove_tags=["a"], add_blockers=[first[:8]])
    seen = edit(plan, "update", task, add_blockers=[second], remove_blockers=[first])

    assert (seen["tags"], seen["blockers"]) == (["b", "c"], [second])
    both = refusal(lambda: edit(plan, "update", task, tags=[], add_tags=["x"]))
    assert items(both)[0]["reason"] == "invalid_add_tags"
    circle = refusal(lambda: edit(plan, "update", second, add_blockers=[task]))
    assert circle.reason == "cycle"
    many = refusal(lambda: edit(plan, "update", task, add_tags=[f"t{n}" for n in range(29)]))
    assert items(many)[0]["reason"] == "invalid_tags"


def test_a_key_of_a_caller_without_proof_gives_no_tokens_away(plan: Tasks) -> None:
    create(plan, "Dig", "Sow")
    claim = [{"action": "next"}]

    (first,) = plan.edit(claim, NOBODY, idempotency_key="claim")
    (guessed,) = plan.edit(claim, NOBODY, idempotency_key="claim")
    (random,) = plan.edit(claim, NOBODY, idempotency_key=RANDOM_KEY)

    assert guessed == {k: v for k, v in first.items() if k not in ("claim_token", "undo_token")}
    assert plan.edit(claim, NOBODY, idempotency_key=RANDOM_KEY) == [random]
    assert random["claim_token"] != first["claim_token"]


def test_a_wrong_clock_deletes_nobodys_keys_and_takes_no_time_back(
    plan: Tasks, plans: Plans
) -> None:
    first = plan.create([{"name": "Once"}], ANN, idempotency_key="k")
    (task,) = create(plan, "Dig")
    plans.clock.forward(days=30)
    plan.create([{"name": "From the future"}], BEN, idempotency_key="k")
    one(plan, BEN, "claim", task)
    plans.clock.forward(days=-60)

    assert plan.create([{"name": "Once"}], ANN, idempotency_key="k") == first
    # A lease that ends later than any lease may was made by a wrong clock.
    assert one(plan, ANN, "claim", task)["claimed_by"] == "claude"
    changed = edit(plan, "update", task, priority=5)
    assert changed["created_at"] <= changed["updated_at"]


def test_the_database_says_what_time_it_is(plans: Plans, monkeypatch: pytest.MonkeyPatch) -> None:
    from mcp_host_tasky.storage.sql import view

    plan = Tasks(open_store(plans.location("postgresql")), Plan(name="Test"))
    plans.opened.append(plan)
    (task,) = create(plan, "Dig")
    held = one(plan, ANN, "claim", task, lease_seconds=600)

    class Ahead(view.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + timedelta(days=10)

    monkeypatch.setattr(view, "datetime", Ahead)

    assert reason(plan, BEN, "claim", task) == "claimed"
    assert get(plan, task)["claimed_until"] == held["claimed_until"]


def test_completing_what_still_waits_or_has_open_parts_warns(plan: Tasks) -> None:
    first, second, part = create(plan, "First", "Second", "Part")
    edit(plan, "update", second, blockers=[first])
    edit(plan, "update", part, subtask_of=second)

    (claimed,) = edit(plan, "claim", second)["warnings"]
    warnings = edit(plan, "complete", second)["warnings"]

    assert "waits for are open" in claimed
    assert ["First" in warnings[0], "Part" in warnings[1], len(warnings)] == [True, True, 2]
    edit(plan, "complete", part)
    assert "warnings" not in edit(plan, "complete", first)
    edit(plan, "reopen", second)
    assert "warnings" not in edit(plan, "update", second, status="completed")


def test_an_operator_in_a_search_is_told_to_be_a_word(plan: Tasks) -> None:
    create(plan, "Dig or sow")

    page = plan.search(Search(search="dig OR reap"), ME)

    assert page.total == 0
    assert "all words must be there" in page.dates["warnings"]
    assert plan.search(Search(search="dig or sow"), ME).dates == {}
