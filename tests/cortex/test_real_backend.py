"""The embedded backend answers as the existing one does: its API, recorded in our own words.

The existing one was read and run; what it takes and gives is the table below. The one difference
that is meant: a new user gets an organization and a project of their own to begin in.
"""

from typing import Any

import pytest
from cortex_lab import Ctx
from test_backend import Person, call

TASK = {
    "id", "title", "description", "type", "priority", "status", "branch_name", "deadline",
    "project_id", "assignee_id", "collaborator_ids", "created_at", "updated_at", "deleted_at",
}  # fmt: skip
USER = {"id", "username", "email", "organization_id"}
PROJECT = {"id", "name", "description", "organization_id", "owner_id", "members", "created_at"}
COMMENT = {"id", "task_id", "author", "author_id", "content", "created_at", "updated_at"}

# method, path, body, status, keys of the answer (of its first item where it is a list)
CALLS: list[tuple[str, str, Any, int, set[str]]] = [
    ("GET", "users/me", None, 200, USER),
    ("PUT", "users/me", {"username": "anna"}, 200, USER),
    ("PUT", "users/me", {"password": "another one"}, 400, {"detail"}),
    ("GET", "users/search?q=example", None, 200, USER),
    ("GET", "projects/", None, 200, PROJECT),
    ("GET", "projects/{project}", None, 200, PROJECT),
    ("GET", "projects/{project}/members", None, 200, USER),
    ("POST", "projects/{project}/members", {"user_id": 424242}, 404, {"detail"}),
    ("DELETE", "projects/{project}/members/424242", None, 404, {"detail"}),
    ("GET", "reports/overview", None, 200, {"total", "by_status", "by_priority", "overdue"}),
    ("GET", "tasks/", None, 200, TASK),
    ("GET", "tasks/project/{project}", None, 200, TASK),
    ("POST", "tasks/", {"title": "No project"}, 422, {"detail"}),
    ("GET", "tasks/{task}", None, 200, TASK),
    ("GET", "tasks/424242", None, 404, {"detail"}),
    ("PATCH", "tasks/{task}", {"status": "REVIEW", "branch_name": "fix/it"}, 200, TASK),
    ("POST", "tasks/{task}/comments", {"content": "Tried A"}, 200, COMMENT),
    ("POST", "tasks/{task}/comments", {"content": ""}, 422, {"detail"}),
    ("GET", "tasks/{task}/comments", None, 200, {"items", "total", "page", "page_size"}),
    ("DELETE", "tasks/{task}", None, 200, {"message"}),
    ("DELETE", "tasks/{task}", None, 404, {"detail"}),
    ("POST", "tasks/{task}/restore", None, 200, {"message"}),
    ("GET", "tasks/{task}", None, 200, TASK),
]


def test_every_call_takes_and_gives_what_the_existing_backend_does(backend: str) -> None:
    ann = Person(backend, "recorded")
    task = ann.task()
    assert (task["assignee_id"], task["status"], task["priority"], task["type"]) == (
        ann.id,
        "TODO",
        "MEDIUM",
        "feature",
    )
    for method, path, body, status, keys in CALLS:
        place = path.format(project=task["project_id"], task=task["id"])
        answer = ann(method, place, body)
        shown = answer[1][0] if isinstance(answer[1], list) else answer[1]
        assert (answer[0], set(shown)) == (status, keys), (method, place, answer)


def test_without_a_token_every_call_is_refused_with_401(backend: str) -> None:
    for method, path, body, _, _ in CALLS:
        status, answer = call(backend, method, path.format(project=1, task=1), body)
        assert (status, answer) == (401, {"detail": "Not authenticated"}), path


def test_comments_come_newest_first_ten_a_page(backend: str) -> None:
    ann = Person(backend, "pages")
    task = ann.task()["id"]
    for number in range(12):
        ann("POST", f"tasks/{task}/comments", {"content": f"note {number}"})
    first = ann("GET", f"tasks/{task}/comments")[1]
    assert [one["content"] for one in first["items"]] == [f"note {n}" for n in range(11, 1, -1)]
    assert (first["total"], first["page"], first["page_size"]) == (12, 1, 10)
    second = ann("GET", f"tasks/{task}/comments?page=2")[1]
    assert [one["content"] for one in second["items"]] == ["note 1", "note 0"]


def test_members_are_added_and_removed_and_the_owner_stays(backend: str) -> None:
    ann = Person(backend, "owner")
    home = ann("GET", "users/me")[1]["organization_id"]
    new = {"username": "bea", "email": "bea@example.com", "password": "secret words"}
    bea = call(backend, "POST", "users/", {**new, "organization_id": home})[1]["id"]
    place = f"projects/{ann.project()}/members"
    assert ann("GET", f"projects/{ann.project()}")[1]["owner_id"] == ann.id
    assert "message" in ann("POST", place, {"user_id": bea})[1]
    assert [user["id"] for user in ann("GET", place)[1]] == [ann.id, bea]
    assert "message" in ann("DELETE", f"{place}/{bea}")[1]
    assert ann("DELETE", f"{place}/{ann.id}")[0] == 400
    assert [user["id"] for user in ann("GET", "users/search?q=bea@")[1]] == [bea]
    assert Person(backend, "stranger")("GET", "users/search?q=bea@")[1] == []


def test_a_report_counts_the_callers_tasks(backend: str) -> None:
    ann = Person(backend, "reporter")
    ann.task(deadline="2020-01-01")
    ann.task(status="DONE", priority="HIGH", deadline="2020-01-01")
    assert ann("GET", "reports/overview")[1] == {
        "total": 2,
        "by_status": {"TODO": 1, "DONE": 1},
        "by_priority": {"MEDIUM": 1, "HIGH": 1},
        "overdue": 1,
    }


def test_projects_are_made_and_tasks_assigned_from_the_command(online: Ctx) -> None:
    assert len(online.json("projects", "list")["projects"]) == 1
    made = online.json("projects", "new", "Second")["project"]
    number = online.json("tasks", "new", "There", "--project", str(made["id"]))["task_id"]
    assert online.task(number)["project_id"] == made["id"]
    run = online.fails("projects", "new", "Third", "--organization", "Another")
    assert run.code == 6, run.out
    me = online.json("auth", "status")["user"]
    assert online.json("tasks", "assign", str(number), "me")["task"]["assignee_id"] == me["id"]


@pytest.mark.parametrize("words", [("list",), ("new", "One")])
def test_projects_are_the_backends(ctx: Ctx, words: tuple[str, ...]) -> None:
    run = ctx("projects", *words, "--json")
    assert (run.code == 0) == (words == ("list",))
