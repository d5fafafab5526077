"""Every scenario of the specification, through clients, real ctx, real git and a real backend."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from cortex_lab import Ctx, Repo
from mcp_host.testing import CallFailed, Hosted, hosted, http_server, stdio_client

pytestmark = pytest.mark.anyio

TOOLS = ["list_tasks", "start_task", "submit_pr", "complete_task", "get_task_status"]
SERVER = str(Path(sys.executable).with_name("cortex-mcp"))


@pytest.fixture
def at_home(online: Ctx, monkeypatch: pytest.MonkeyPatch) -> Ctx:
    """Somebody logged in to the backend, whose home is this process's home too."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(online.home / name))
    monkeypatch.setenv("HOME", str(online.home))
    return online


@asynccontextmanager
async def alone(root: Path, **settings: Any) -> AsyncIterator[Hosted]:
    """The pack as its own server."""
    tables = {"packs": {"cortex": {"settings": settings}}}
    packs = {"cortex": "mcp_host_cortex_tasks.plugin"}
    async with hosted(packs, tables, root=root, alone=True) as host:
        yield host


def condition(host: Hosted) -> Any:
    return host.host.packs["cortex"].condition


def fake_ctx(folder: Path, script: str) -> str:
    """A program of another make."""
    path = folder / "other-ctx"
    path.write_text(f"#!{sys.executable}\nimport sys, time\n{script}\n")
    path.chmod(0o755)
    return str(path)


# MCP Server Discovery, Standalone MCP server execution, MCP server entry point


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_alone_over_stdio_it_offers_exactly_its_five_tools(
    at_home: Ctx, repo: Repo, protocol: str
) -> None:
    async with stdio_client([SERVER], cwd=repo.folder, protocol=protocol) as client:
        tools = await client.tools()
        assert [tool["name"] for tool in tools] == TOOLS
        by_name = {tool["name"]: tool for tool in tools}
        for tool in tools:
            assert tool["description"]
            assert tool["inputSchema"]["type"] == "object"
        assert {"task_id", "title"} <= by_name["start_task"]["inputSchema"]["properties"].keys()
        assert "required" not in by_name["submit_pr"]["inputSchema"]
        assert set(by_name["submit_pr"]["inputSchema"]["properties"]) >= {"commit_message"}
        assert len(json.dumps(tools)) / 4 < 2000
        assert (await client.value("get_task_status"))["branch"] == "main"


async def test_the_version_that_clients_see_is_that_of_the_distribution(
    at_home: Ctx, repo: Repo
) -> None:
    async with stdio_client([SERVER], cwd=repo.folder, protocol="2025-11-25") as client:
        told = client.initialized["serverInfo"]["version"]
        assert told == version("mcp-host-cortex-tasks")


async def test_the_file_itself_is_a_server_as_the_specifications_example_runs_it(
    at_home: Ctx, repo: Repo
) -> None:
    import cortex_mcp.server

    argv = [sys.executable, str(cortex_mcp.server.__file__)]
    async with stdio_client(argv, cwd=repo.folder) as client:
        assert [tool["name"] for tool in await client.tools()] == TOOLS
        assert await client.end_input() == 0


async def test_over_http_the_same_task_is_worked_with_the_sdks_own_client(
    at_home: Ctx, repo: Repo
) -> None:
    from mcp import Client

    number = at_home.new()
    argv = [SERVER, "--transport", "http", "--port", "0", "--root", str(repo.folder)]
    async with http_server(argv) as server, Client(server.url) as client:
        answer = await client.call_tool("start_task", {"task_id": number})
        assert answer.structured_content["branch"] == repo.branch()
        assert at_home.task(number)["status"] == "IN_PROGRESS"


async def test_in_the_host_every_tool_has_the_prefix(at_home: Ctx, repo: Repo) -> None:
    packs = {"cortex": "mcp_host_cortex_tasks.plugin"}
    async with hosted(packs, {}, root=repo.folder) as host:
        assert host.names() == [f"cortex_{name}" for name in TOOLS]
        assert "cortex_list_tasks" in str(host.listed("cortex_start_task"))
        assert host.names("prompts") == ["cortex-start", "cortex-review", "cortex-feedback"]
        assert (await host.value("cortex_get_task_status"))["branch"] == "main"


async def test_doctor_hears_of_a_ctx_that_is_not_there(at_home: Ctx, repo: Repo) -> None:
    async with alone(repo.folder, command="no-such-ctx") as host:
        findings = [check() for check in host.host.packs["cortex"].declared.checks]
        assert [finding.problem for finding in findings if finding] == ["no-such-ctx is not there"]


# the whole life of a task


async def test_a_task_goes_from_the_list_to_done(at_home: Ctx, repo: Repo) -> None:
    at_home.set(delete_local_on_done="true", delete_remote_on_done="true")
    async with alone(repo.folder) as host:
        empty = await host.value("list_tasks")
        assert (empty["tasks"], empty["message"]) == ([], "No assigned tasks")
        number = at_home.new("Mend the [roof]")
        listed = await host.value("list_tasks")
        assert listed["tasks"] == [
            {
                "id": number,
                "title": "Mend the [roof]",
                "status": "TODO",
                "priority": "MEDIUM",
                "branch_name": None,
                "type": "feature",
            }
        ]

        started = await host.value("start_task", task_id=number)
        branch = repo.branch()
        assert started == {
            "success": True, "task_id": number, "branch": branch, "already": False,
            "project": str(repo.folder), "base": "main", "claim": "remote",
        }  # fmt: skip
        assert (await host.value("start_task", task_id=str(number)))["already"] is True
        standing = await host.value("get_task_status")
        assert (standing["branch"], standing["is_task_branch"], standing["task_id"]) == (
            branch, True, number,
        )  # fmt: skip

        repo.write("README", "mended\n")
        repo.write("new.txt")
        needed = await host.error("submit_pr")
        assert needed["details"]["reason"] == "commit_message_required"
        assert needed["suggestions"][0] == "submit_pr with commit_message"
        message = "Mend 'it'\n\n--amend \"$HOME\""
        sent = await host.value("submit_pr", commit_message=message, paths=["new.txt"])
        assert (sent["success"], sent["task_id"], sent["created"]) == (True, number, False)
        assert sent["message"] == f"{branch} is on origin."
        assert repo.git("log", "-1", "--format=%B") == message

        early = await host.error("complete_task")
        assert (early["code"], early["details"]["reason"]) == ("conflict", "not_merged")
        assert early["suggestions"] == [
            "submit_pr",
            "ctx tasks done --force changes the state all the same.",
        ]
        repo.merge_on_remote(branch)
        done = await host.value("complete_task")
        assert (done["task_id"], done["cleaned"]) == (number, ["local_branch", "remote_branch"])
        assert (repo.branches(), repo.remote_branches()) == ({"main"}, {"main"})
        assert (await host.value("complete_task"))["cleaned"] == []
        off = await host.value("get_task_status")
        assert (off["is_task_branch"], off["task_id"]) == (False, None)
        assert at_home.task(number)["status"] == "DONE"


async def test_the_tasks_title_is_the_message_where_the_settings_say_so(
    at_home: Ctx, repo: Repo
) -> None:
    number = at_home.new("Mend the roof")
    async with alone(repo.folder, default_message="title") as host:
        await host.value("start_task", task_id=number)
        repo.write("README", "mended\n")
        await host.value("submit_pr")
    assert repo.git("log", "-1", "--format=%s") == "Mend the roof"


async def test_lists_come_in_pages_and_can_be_filtered(at_home: Ctx, repo: Repo) -> None:
    numbers = [at_home.new(f"Task {count}") for count in range(5)]
    at_home.json("tasks", "start", str(numbers[2]), at=repo.folder)
    async with alone(repo.folder) as host:
        first = await host.value("list_tasks", limit=3)
        assert (first["total"], first["truncated"], len(first["tasks"])) == (5, True, 3)
        rest = await host.value("list_tasks", limit=3, cursor=first["next_cursor"])
        assert [row["id"] for row in first["tasks"] + rest["tasks"]] == numbers
        assert (rest["truncated"], rest["next_cursor"]) == (False, None)
        started = await host.value("list_tasks", status="IN_PROGRESS")
        assert [row["id"] for row in started["tasks"]] == [numbers[2]]
        assert (await host.error("list_tasks", cursor="x"))["code"] == "validation_error"


# errors


async def test_a_task_id_that_is_none_is_a_validation_error(at_home: Ctx, repo: Repo) -> None:
    before = repo.picture()
    async with alone(repo.folder) as host:
        for task_id in (-1, 0, 10**30, "abc", "1; id", "--help", "", "٣", 1.5, True, None):
            assert (await host.error("start_task", task_id=task_id))["code"] == "validation_error"
    assert repo.picture() == before


async def test_errors_carry_the_commands_own_message_and_name_it(at_home: Ctx, repo: Repo) -> None:
    async with alone(repo.folder) as host:
        missing = await host.error("start_task", task_id=424242)
        assert (missing["error"], missing["code"]) == ("Task not found", "not_found")
        assert missing["details"]["command"] == "ctx tasks start 424242"
        nothing = await host.error("complete_task")
        assert nothing["details"]["reason"] == "not_a_task_branch"
        for argument in ({"commit_message": "a\0b"}, {"paths": ["a\0b"]}):
            assert (await host.error("submit_pr", **argument))["code"] == "validation_error"


async def test_outside_a_repository_every_tool_is_listed_and_says_so(
    at_home: Ctx, tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    number = at_home.new()
    async with alone(folder) as host:
        assert host.names() == TOOLS
        assert (condition(host).state, condition(host).code) == ("degraded", "not_set_up")
        for tool, arguments in (("get_task_status", {}), ("start_task", {"task_id": number})):
            error = await host.error(tool, **arguments)
            assert error["error"] == "Not in a git repository"
        assert (await host.value("list_tasks"))["total"] == 1
    assert at_home.task(number)["status"] == "TODO"


@pytest.mark.parametrize("without", ["backend", "login", "repository"])
async def test_while_it_is_not_set_up_every_listed_resource_can_be_read_and_says_what_to_do(
    at_home: Ctx, repo: Repo, tmp_path: Path, without: str
) -> None:
    folder = tmp_path / "plain" if without == "repository" else repo.folder
    folder.mkdir(exist_ok=True)
    if without == "backend":
        at_home.config_file.write_text("{}")
    elif without == "login":
        at_home("auth", "logout")
    async with alone(folder) as host:
        assert condition(host).code == "not_set_up"
        remedy = condition(host).remedy
        read = {uri: await host.read(uri) for uri in host.names("resources")}
        called = await host.error("list_tasks") if without == "backend" else None

    told = [content for contents in read.values() for content in contents if "_meta" in content]
    # Where one stands, git tells without a backend; and tasks need no git.
    assert len(told) == 1
    for content in told:
        envelope = content["_meta"]["mcp-host/error"]
        assert json.loads(content["text"]) == envelope
        assert (envelope["suggestions"], envelope["retryable"]) == ([remedy], False)
    if called is not None:
        assert (called["code"], called["retryable"]) == ("unavailable", False)
        assert called["details"]["reason"] == "no_backend"


async def test_without_a_login_the_answer_names_the_command_that_makes_one(
    at_home: Ctx, repo: Repo
) -> None:
    at_home("auth", "logout")
    async with alone(repo.folder) as host:
        assert condition(host).remedy == "ctx auth login"
        error = await host.error("list_tasks")
        assert error["code"] == "authentication_required"
        assert error["error"] == "Not logged in. Please run 'ctx auth login' first."


async def test_an_expired_login_is_told_and_a_new_one_recovers(at_home: Ctx, repo: Repo) -> None:
    values = json.loads(at_home.config_file.read_text())
    good = values["access_token"]
    async with alone(repo.folder) as host:
        at_home.config_file.write_text(json.dumps(values | {"access_token": "x" * 40}))
        error = await host.error("list_tasks")
        assert error["code"] == "authentication_required"
        assert condition(host).code == "not_set_up"
        at_home.config_file.write_text(json.dumps(values | {"access_token": good}))
        await host.value("list_tasks")
        assert condition(host).state == "ready"


async def test_a_backend_out_of_reach_is_unavailable_and_retryable(
    at_home: Ctx, repo: Repo
) -> None:
    at_home.set(url="http://127.0.0.1:9/api/v1")
    async with alone(repo.folder) as host:
        error = await host.error("list_tasks")
        assert (error["code"], error["retryable"]) == ("unavailable", True)


async def test_a_command_that_takes_too_long_is_a_timeout_that_names_it(
    at_home: Ctx, repo: Repo, tmp_path: Path
) -> None:
    slow = fake_ctx(tmp_path, "time.sleep(60)")
    async with alone(repo.folder, command=slow, list_timeout=0.5, git_timeout=0.5) as host:
        error = await host.error("list_tasks")
        assert (error["code"], error["details"]["command"]) == ("timeout", "ctx tasks list")
        assert "ctx tasks list" in error["error"]
        error = await host.error("submit_pr", commit_message="private words")
        assert (error["retryable"], error["details"]["command"]) == (True, "ctx tasks pr --message")
        assert "private words" not in str(error)


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ("print('hello')", "unavailable", "ctx_garbled"),
        ("print('{\"tasks\": 5}')", "unavailable", "ctx_garbled"),
        ("print('[' * 100000)", "unavailable", "ctx_garbled"),
        ("sys.exit(3)", "unavailable", "ctx_garbled"),
        ("[sys.stdout.write('x' * 2**20) for _ in range(40)]", "unavailable", "ctx_garbled"),
        ("sys.exit('Error: Not logged in. Please run it.')", "authentication_required", None),
        (
            'print(\'{"success": false, "error": "token ghp_' + "a" * 36 + " is bad\"}')",
            "conflict",
            None,
        ),
    ],
)
async def test_another_ctx_that_misbehaves_is_an_error_that_says_so(
    at_home: Ctx, repo: Repo, tmp_path: Path, script: str, code: str, reason: str | None
) -> None:
    async with alone(repo.folder, command=fake_ctx(tmp_path, script)) as host:
        error = await host.error("list_tasks")
        assert (error["code"], error["details"].get("reason")) == (code, reason)
        assert error["details"]["command"] == "ctx tasks list"
        assert "ghp_" not in str(error)


async def test_a_ctx_that_is_missing_says_how_to_get_one(at_home: Ctx, repo: Repo) -> None:
    async with alone(repo.folder, command="no-such-ctx") as host:
        error = await host.error("list_tasks")
        assert error["details"]["reason"] == "ctx_missing"
        assert "pip install" in error["suggestions"][0]


async def test_another_ctx_that_answers_as_ours_does_is_used(
    at_home: Ctx, repo: Repo, tmp_path: Path
) -> None:
    row = {"id": 1, "title": "T", "status": "TODO", "priority": "LOW", "branch_name": None}
    answer = json.dumps({"tasks": [row]})
    script = f"assert sys.argv[1:] == ['tasks', 'list', '--json']\nprint({answer!r})"
    async with alone(repo.folder, command=fake_ctx(tmp_path, script)) as host:
        assert (await host.value("list_tasks"))["tasks"] == [row]


async def test_the_child_sees_no_variable_that_is_not_listed(
    at_home: Ctx, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "hidden")
    script = "import os, json\nprint(json.dumps({'tasks': [], 'message': ' '.join(os.environ)}))"
    async with alone(repo.folder, command=fake_ctx(tmp_path, script)) as host:
        names = (await host.value("list_tasks"))["message"].split()
    assert "HOME" in names
    assert "SOME_PASSWORD" not in names


# resources, prompts, notifications


async def test_tasks_and_state_can_be_read_and_prompts_know_the_task(
    at_home: Ctx, repo: Repo
) -> None:
    number = at_home.new("Mend it", "-d", "because it leaks")
    async with alone(repo.folder) as host:
        assert json.loads(await host.text("cortex://tasks"))["tasks"][0]["id"] == number
        assert json.loads(await host.text(f"cortex://tasks/{number}"))["title"] == "Mend it"
        assert json.loads(await host.text("cortex://status"))["branch"] == "main"
        ref = {"type": "ref/prompt", "name": "cortex-start"}
        offered = await host.complete(ref, "task_id", str(number)[:1])
        assert str(number) in str(offered)
        with pytest.raises(Exception, match="Task not found"):
            await host.text("cortex://tasks/424242")
        (text,) = await host.prompt("cortex-start", task_id=str(number))
        assert "because it leaks" in text
        assert "start_task" in text
        await host.value("start_task", task_id=number)
        (text,) = await host.prompt("cortex-review")
        assert "because it leaks" in text
        assert repo.branch() in text


async def test_changes_of_the_branch_and_of_tasks_are_told_whoever_made_them(
    at_home: Ctx, repo: Repo
) -> None:
    number = at_home.new()
    async with alone(repo.folder, poll=1) as host:
        host.watch("cortex://tasks", "cortex://status", f"cortex://tasks/{number}")
        await host.value("start_task", task_id=number)
        for uri in ("cortex://tasks", "cortex://status", f"cortex://tasks/{number}"):
            await host.next_change(uri)
        while not host.changes.empty():
            host.changes.get_nowait()
        repo.git("switch", "-qc", "elsewhere")
        await host.next_change("cortex://status")
        at_home.json("tasks", "delete", str(number))
        await host.next_change(f"cortex://tasks/{number}")


async def test_two_agents_start_one_task_and_one_of_them_wins(at_home: Ctx, repo: Repo) -> None:
    import asyncio

    number = at_home.new()
    async with alone(repo.folder) as one, alone(repo.folder) as two:
        answers = await asyncio.gather(
            one.value("start_task", task_id=number), two.value("start_task", task_id=number)
        )
    assert sorted(answer["already"] for answer in answers) == [False, True]
    assert {answer["branch"] for answer in answers} == {repo.branch()}
    assert repo.branches() == {"main", repo.branch()}


async def test_two_clones_that_start_one_task_at_once_agree_on_the_branch(
    at_home: Ctx, repo: Repo, tmp_path: Path
) -> None:
    import asyncio

    from cortex_lab import git

    git(tmp_path, "clone", "-q", str(repo.bare), "second")
    second = Repo(tmp_path / "second", repo.bare)
    number = at_home.new()
    async with alone(repo.folder) as one, alone(second.folder) as two:
        answers = await asyncio.gather(
            one.value("start_task", task_id=number), two.value("start_task", task_id=number)
        )
    assert repo.branch() == second.branch() == answers[0]["branch"]
    assert sorted(answer["already"] for answer in answers) == [False, True]


async def test_two_tasks_at_once_work_in_their_worktrees(at_home: Ctx, repo: Repo) -> None:
    import asyncio

    at_home.set(use_worktree="true")
    numbers = [at_home.new("one"), at_home.new("two")]
    async with alone(repo.folder) as host:
        answers = await asyncio.gather(
            *(host.value("start_task", task_id=number) for number in numbers)
        )
    trees = [Path(answer["worktree"]) for answer in answers]
    for tree, answer in zip(trees, answers, strict=True):
        work = Repo(tree, repo.bare)
        assert work.branch() == answer["branch"]
        work.write("README", f"{answer['branch']}\n")

    async with alone(repo.folder) as host:
        sent = await asyncio.gather(
            *(host.value("submit_pr", task_id=number, commit_message="Work") for number in numbers)
        )
        assert [answer["task_id"] for answer in sent] == numbers
        assert repo.remote_branches() == {"main", *(answer["branch"] for answer in answers)}
        standing = await host.value("get_task_status", task_id=numbers[1])
        assert standing["branch"] == answers[1]["branch"]
        at_home.set(delete_worktree_on_done="true", delete_local_on_done="true")
        repo.merge_on_remote(answers[0]["branch"])
        done = await host.value("complete_task", task_id=numbers[0])
        assert (done["task_id"], done["cleaned"]) == (numbers[0], ["worktree", "local_branch"])
        assert (await host.value("complete_task", task_id=numbers[0]))["already"] is True
        assert (await host.error("submit_pr", task_id=999))["details"][
            "reason"
        ] == "not_checked_out"
        assert (await host.error("complete_task", task_id=999))["code"] == "not_found"
    assert [tree.exists() for tree in trees] == [False, True]


async def test_the_spec_error_is_text_and_never_structured(at_home: Ctx, repo: Repo) -> None:
    async with stdio_client([SERVER], cwd=repo.folder) as client:
        result = await client.call("start_task", task_id=-7)
        assert result["isError"] is True
        assert "structuredContent" not in result
        envelope = json.loads(result["content"][0]["text"])
        assert (envelope["success"], envelope["code"]) == (False, "validation_error")
        with pytest.raises(CallFailed):
            await client.value("complete_task")
    assert os.environ["HOME"] == str(at_home.home)
