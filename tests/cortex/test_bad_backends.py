"""A backend that answers nonsense, nothing, too much, too late, or sends the token elsewhere."""

import json
from collections.abc import Iterator

import pytest
from cortex_lab import Ctx, Repo
from cortex_servers import Asked, Reply, Server

TOKEN = "a-very-secret-token-0123456789"
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(lambda asked: (200, [], {})).running() as running:
        yield running


@pytest.fixture
def asking(home: object, ctx: Ctx, server: Server) -> Ctx:
    """A command whose backend is the server of the test."""
    ctx.set(url=f"{server.url}/api/v1", access_token=TOKEN, timeout="2")
    return ctx


@pytest.mark.parametrize(
    ("reply", "code", "reason"),
    [
        ((200, b"<html>hello</html>", HTML), 7, "bad_answer"),
        ((200, b'[{"id": 1, "titl', {}), 7, "bad_answer"),
        ((200, b"", {}), 7, "bad_answer"),
        ((200, {"tasks": []}, {}), 7, "bad_answer"),
        ((200, [{"id": "one"}], {}), 7, "bad_answer"),
        ((200, b"[" * 100_000, {}), 7, "bad_answer"),
        ((200, b"[" + b" " * 30_000_000 + b"]", {}), 7, "bad_answer"),
        ((200, b"[]", {"Content-Length": "10", "Connection": "close"}), 7, "backend_unreachable"),
        ((500, {"detail": "boom"}, {}), 7, "backend_failed"),
        ((502, b"<html>bad gateway</html>", HTML), 7, "backend_failed"),
        ((401, {"detail": "Could not validate credentials"}, {}), 3, "login_required"),
        ((403, {"detail": "No access"}, {}), 5, "no_access"),
        ((422, {"detail": [{"loc": ["query", "x"], "msg": "bad"}]}, {}), 2, None),
        ((429, {"detail": "slow down"}, {"Retry-After": "3600"}), 9, "busy"),
        (None, 7, "backend_unreachable"),
    ],
)
def test_every_bad_answer_is_one_json_error_with_its_exit_code(
    asking: Ctx, server: Server, reply: Reply | None, code: int, reason: str | None
) -> None:
    server.answer = lambda asked: reply
    run = asking.fails("tasks", "list")
    assert (run.code, run.reason) == (code, reason)
    assert TOKEN not in run.out + run.err


def test_a_backend_that_is_not_there_is_unavailable(asking: Ctx) -> None:
    asking.set(url="http://127.0.0.1:9/api/v1")
    run = asking.fails("tasks", "list")
    assert (run.code, run.data["code"], run.data["retryable"]) == (7, "unavailable", True)


def test_a_backend_that_hangs_or_drips_times_out(asking: Ctx, server: Server) -> None:
    import threading

    asking.set(timeout="1")
    released = threading.Event()

    def hang(asked: Asked) -> Reply:
        released.wait(20)
        return 200, [], {}

    server.answer = hang
    run = asking.fails("tasks", "list")
    released.set()
    assert (run.code, run.data["code"]) == (8, "timeout")


def test_a_redirect_to_another_host_is_refused_and_the_token_stays_here(
    asking: Ctx, server: Server
) -> None:
    with Server(lambda asked: (200, [], {})).running() as elsewhere:
        server.answer = lambda asked: (307, b"", {"Location": f"{elsewhere.url}/api/v1/tasks/"})
        run = asking.fails("tasks", "list")
        assert run.reason == "redirected"
        assert elsewhere.asked == []


def test_a_redirect_on_the_same_host_is_followed(asking: Ctx, server: Server) -> None:
    def once(asked: Asked) -> Reply:
        moved = asked.path.endswith("/moved")
        return (200, [], {}) if moved else (307, b"", {"Location": "/api/v1/moved"})

    server.answer = once
    assert asking.json("tasks", "list")["tasks"] == []
    assert server.asked[-1].headers["Authorization"] == f"Bearer {TOKEN}"


def test_retry_after_is_honoured_once(asking: Ctx, server: Server) -> None:
    replies = [(429, {"detail": "slow down"}, {"Retry-After": "0"}), (200, [], {})]
    server.answer = lambda asked: replies.pop(0)
    assert asking.json("tasks", "list")["message"] == "No assigned tasks"
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["--force", "main", "a..b", "feature/task-9-0badcafe", "x\ny"])
def test_a_branch_name_from_the_backend_that_git_or_we_refuse_touches_nothing(
    asking: Ctx, server: Server, repo: Repo, name: str
) -> None:
    task = {"id": 5, "title": "T", "type": "bug", "status": "TODO", "branch_name": name}
    server.answer = lambda asked: (200, task, {})
    before = repo.picture()
    run = asking.fails("tasks", "start", "5", at=repo.folder)
    assert run.reason in ("bad_branch_name", "branch_taken")
    assert repo.picture() == before
    assert {asked.method for asked in server.asked} == {"GET"}


def test_a_server_lost_after_gits_step_leaves_the_branch_and_running_again_finishes(
    asking: Ctx, server: Server, repo: Repo
) -> None:
    task = {"id": 5, "title": "T", "type": "bug", "status": "TODO", "branch_name": None}
    lost = True

    def answer(asked: Asked) -> Reply:
        if asked.method == "PATCH":
            if lost:
                return 503, {"detail": "down"}, {}
            task.update(json.loads(asked.body))
        return 200, task, {}

    server.answer = answer
    run = asking.fails("tasks", "start", "5", at=repo.folder)
    assert run.data["details"]["pending"] == [
        f"tell the backend: task 5 is IN_PROGRESS on {repo.branch()}"
    ]
    assert run.data["suggestions"][0] == "Run this again to finish it: ctx tasks start 5"
    assert (run.code, repo.branch().startswith("bug/task-5-")) == (10, True)
    lost = False
    again = asking.json("tasks", "start", "5", at=repo.folder)
    assert (again["already"], task["status"]) == (True, "IN_PROGRESS")
    asking.json("undo", at=repo.folder)  # both runs were one command
    assert (task["status"], repo.branches()) == ("TODO", {"main"})


def test_the_backends_own_branch_name_wins(asking: Ctx, server: Server, repo: Repo) -> None:
    task = {"id": 5, "title": "T", "status": "TODO", "branch_name": "bobs-own-name"}
    server.answer = lambda asked: (200, task, {})
    assert asking.json("tasks", "start", "5", at=repo.folder)["branch"] == "bobs-own-name"
    standing = asking.json("tasks", "status", at=repo.folder)
    assert (standing["is_task_branch"], standing["task_id"]) == (True, 5)
