"""ctx tasks pr: commit, push, pull request, then the backend; and what must stop it before."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git
from cortex_servers import FORGES, Forge


@pytest.fixture
def started(ctx: Ctx, repo: Repo) -> tuple[Ctx, Repo, int, str]:
    """A task that is started, with its branch checked out."""
    number = ctx.new("Fix the roof")
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    return ctx, repo, number, branch


@pytest.fixture(params=FORGES, ids=lambda kind: kind.kind)
def forge(request: pytest.FixtureRequest, started: tuple[Ctx, Repo, int, str]) -> Iterator[Forge]:
    """A forge that the started repository's remote says it lives on."""
    ctx, repo, _, _ = started
    with request.param(lambda branch: git(repo.bare, "rev-parse", branch)).running() as server:
        address = f"{server.url}/{server.path}.git"
        repo.git("config", f"url.{repo.bare}.insteadOf", address)
        repo.git("remote", "set-url", "origin", address)
        ctx.set(git_provider=server.kind, **{f"{server.kind}_token": server.token})
        yield server


def test_the_change_is_committed_pushed_and_then_in_review(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    repo.write("README", "mended\n")
    repo.write("notes.txt")
    message = "Fix 'the' \"roof\"\n\n-m $(touch hacked) `x`\n# not a comment"

    answer = ctx.json("tasks", "pr", "-m", message, at=repo.folder)

    assert (answer["task_id"], answer["branch"], answer["created"]) == (number, branch, False)
    assert answer["left_out"] == ["notes.txt"]
    assert repo.git("log", "-1", "--format=%B") == message
    assert git(repo.bare, "rev-parse", branch) == repo.tip()
    assert ctx.task(number)["status"] == "REVIEW"
    assert repo.git("status", "--porcelain") == "?? notes.txt"


def test_a_dry_run_changes_nothing_and_does_not_say_that_it_did(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    repo.write("README", "mended\n")
    before = repo.picture()

    answer = ctx.json("tasks", "pr", "-m", "x", "--dry-run", at=repo.folder)

    assert answer["would"][1] == f"push {branch} to origin"
    assert "message" not in answer
    assert (repo.picture(), ctx.task(number)["status"]) == (before, "IN_PROGRESS")


def test_a_message_that_begins_with_a_dash_is_a_message(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, _ = started
    repo.write("README", "mended\n")
    ctx.json("tasks", "pr", "--message=--amend", at=repo.folder)
    repo.write("README", "better\n")
    ctx.json("tasks", "pr", "-m", "--json", at=repo.folder)
    assert repo.git("log", "--format=%s", "main..") == "--json\n--amend"


@pytest.mark.parametrize(
    ("message", "reason"),
    [("", "commit_message_required"), (" \n", "commit_message_required"), ("a\0b", "bad_message")],
)
def test_messages_that_git_cannot_take_are_refused(
    started: tuple[Ctx, Repo, int, str], message: str, reason: str
) -> None:
    ctx, repo, _, _ = started
    repo.write("README", "mended\n")
    before = repo.picture()
    run = ctx.fails("tasks", "pr", "-m", message, at=repo.folder)
    assert (run.code, run.reason) == (2, reason)
    assert repo.picture() == before


def test_without_a_message_it_is_asked_for_unless_the_title_may_serve(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, _ = started
    repo.write("README", "mended\n")
    before = repo.picture()
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert (run.data["code"], run.reason) == ("validation_error", "commit_message_required")
    assert repo.picture() == before
    ctx.set(default_message="title")
    ctx.json("tasks", "pr", at=repo.folder)
    assert repo.git("log", "-1", "--format=%s") == "Fix the roof"


def test_nothing_to_submit_is_refused_before_any_call_to_a_server(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, _ = started
    ctx.set(url="http://127.0.0.1:9/api/v1", access_token="a-token")  # nobody is there
    run = ctx.fails("tasks", "pr", "-m", "x", at=repo.folder)
    assert (run.code, run.reason) == (6, "nothing_to_submit")


def test_a_detached_head_and_unfinished_operations_are_refused_by_name(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    repo.git("switch", "-q", "--detach")
    assert ctx.fails("tasks", "pr", "-m", "x", at=repo.folder).reason == "detached_head"

    repo.git("switch", "-q", "main")
    assert ctx.fails("tasks", "pr", "-m", "x", at=repo.folder).reason == "not_a_task_branch"
    theirs = repo.commit("README", "theirs\n")
    repo.git("switch", "-q", branch)
    repo.commit("README", "ours\n")

    repo.git("merge", theirs, check=False)
    run = ctx.fails("tasks", "pr", "-m", "x", at=repo.folder)
    assert (run.reason, "merge" in run.data["error"]) == ("operation_in_progress", True)
    repo.git("merge", "--abort")

    repo.git("rebase", theirs, check=False)
    repo.git("checkout", "-q", "--theirs", "README", check=False)
    run = ctx.fails("tasks", "pr", "-m", "x", at=repo.folder)
    assert (run.reason, "rebase" in run.data["error"]) == ("operation_in_progress", True)
    repo.git("rebase", "--abort")
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_branch_that_has_diverged_is_refused_with_the_counts(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    repo.commit("a")
    repo.git("push", "-q", "origin", "HEAD")
    repo.git("commit", "-q", "--amend", "-m", "Rewritten")
    repo.commit("b")
    there = git(repo.bare, "rev-parse", branch)

    run = ctx.fails("tasks", "pr", at=repo.folder)

    assert (run.code, run.reason) == (6, "diverged")
    assert (run.data["details"]["ahead"], run.data["details"]["behind"]) == (2, 1)
    assert git(repo.bare, "rev-parse", branch) == there
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_push_that_a_hook_refuses_leaves_the_state_and_passes_gits_reason_on(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    repo.write("README", "mended\n")
    repo.hook("pre-receive", "echo 'protected: ask Bob' >&2; exit 1", remote=True)

    run = ctx.fails("tasks", "pr", "-m", "x", at=repo.folder)

    assert (run.code, run.reason) == (6, "push_refused")
    assert "protected: ask Bob" in run.data["error"]
    assert ctx.task(number)["status"] == "IN_PROGRESS"
    assert branch not in repo.remote_branches()

    (repo.bare / "hooks" / "pre-receive").unlink()
    assert ctx.json("tasks", "pr", at=repo.folder)["success"]
    assert ctx.task(number)["status"] == "REVIEW"
    assert repo.git("rev-list", "--count", "main..HEAD") == "1"


def test_a_commit_hook_that_refuses_leaves_index_and_branch_as_they_were(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, _ = started
    repo.write("README", "mended\n")
    repo.write("new.txt")
    repo.hook("pre-commit", "echo 'no tests' >&2; exit 1")
    before = repo.picture()
    run = ctx.fails("tasks", "pr", "-m", "x", "--add", "new.txt", at=repo.folder)
    assert (run.reason, "no tests" in run.data["error"]) == ("commit_refused", True)
    assert repo.picture() == before
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_file_name_that_is_no_utf8_breaks_nothing(started: tuple[Ctx, Repo, int, str]) -> None:
    ctx, repo, _, _ = started
    repo.commit()
    (repo.folder / os.fsdecode(b"caf\xe9.txt")).write_text("text\n")
    run = ctx("tasks", "pr", "--json", at=repo.folder)
    assert json.dumps(run.data, ensure_ascii=False).encode()
    assert run.data["left_out"] == ["caf?.txt"]


def test_named_files_are_added_and_secrets_refused(started: tuple[Ctx, Repo, int, str]) -> None:
    ctx, repo, _, _ = started
    repo.write("src/new.py", "print()\n")
    repo.write("src/[odd] *.txt")
    repo.write(".env", "A=1\n")
    repo.write("notes.md", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
    before = repo.picture()

    run = ctx.fails("tasks", "pr", "-m", "x", "--add", ".env", "--add", "notes.md", at=repo.folder)
    assert (run.reason, run.data["details"]["files"]) == ("looks_like_secret", [".env", "notes.md"])
    run = ctx.fails("tasks", "pr", "-m", "x", "--add", "../other", at=repo.folder)
    assert run.reason == "bad_path"
    assert repo.picture() == before

    answer = ctx.json("tasks", "pr", "-m", "x", "--add", "src", at=repo.folder)
    assert answer["left_out"] == [".env", "notes.md"]
    assert set(repo.git("show", "--name-only", "--format=").splitlines()) == {
        "src/[odd] *.txt",
        "src/new.py",
    }


def test_offline_the_commit_is_made_and_running_again_finishes(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, number, branch = started
    assert repo.bare
    away = repo.bare.with_name("away.git")
    repo.bare.rename(away)
    repo.write("README", "mended\n")

    run = ctx.fails("tasks", "pr", "-m", "Mend", at=repo.folder)

    assert (run.code, run.reason, run.data["retryable"]) == (10, "pending", True)
    assert [step.split()[0] for step in run.data["details"]["pending"]] == ["push", "tell"]
    assert repo.git("log", "-1", "--format=%s") == "Mend"
    assert ctx.task(number)["status"] == "IN_PROGRESS"
    assert ctx.json("tasks", "status", at=repo.folder)["pending"]["command"] == "pr"

    away.rename(repo.bare)
    ctx.json("tasks", "pr", at=repo.folder)
    assert git(repo.bare, "rev-parse", branch) == repo.tip()
    assert ctx.task(number)["status"] == "REVIEW"
    assert "pending" not in ctx.json("tasks", "status", at=repo.folder)


def test_without_a_remote_the_commit_is_made_and_the_push_is_pending(
    ctx: Ctx, lonely_repo: Repo
) -> None:
    number = ctx.new()
    ctx.json("tasks", "start", str(number), at=lonely_repo.folder)
    lonely_repo.write("README", "mended\n")
    run = ctx.fails("tasks", "pr", "-m", "Mend", at=lonely_repo.folder)
    assert (run.code, run.data["details"]["cause"]) == (10, "no_remote")
    assert lonely_repo.git("log", "-1", "--format=%s") == "Mend"
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_pull_request_is_opened_once_and_found_ever_after(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, number, branch = started
    repo.write("README", "mended\n")
    first = ctx.json("tasks", "pr", "-m", "Mend", at=repo.folder)
    again = ctx.json("tasks", "pr", at=repo.folder)

    assert first["created"] is True
    assert first["pr_url"].startswith(f"{forge.url}/{forge.path}/")
    assert again == first | {"created": False}
    assert [(pull.branch, pull.base, pull.title) for pull in forge.pulls] == [
        (branch, "main", "Fix the roof")
    ]
    assert ctx.task(number)["status"] == "REVIEW"


def test_a_race_for_the_pull_request_ends_in_the_one_that_won(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, _, branch = started
    repo.commit()
    repo.git("push", "-q", "origin", branch)
    forge.open_pull(branch)
    forge.blind_lists = 1  # it was opened between our look and our request
    answer = ctx.json("tasks", "pr", at=repo.folder)
    assert (answer["created"], len(forge.pulls)) == (False, 1)


def test_a_pull_request_beyond_the_first_page_is_found(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, _, branch = started
    repo.commit()
    repo.git("push", "-q", "origin", branch)
    mine = forge.open_pull(branch)
    for _ in range(120):
        older = forge.open_pull("main")
        older.branch = branch if forge.kind != "gitea" else "another"
        older.open = False
    assert mine.number == 1
    assert ctx.json("tasks", "pr", at=repo.folder)["created"] is False


def test_retry_after_is_honoured_once_and_then_reported(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, number, branch = started
    repo.commit()
    slow = (429 if forge.kind != "github" else 403, {"message": "slow down"}, {"Retry-After": "0"})
    forge.first = [slow]
    assert ctx.json("tasks", "pr", at=repo.folder)["created"] is True

    repo.commit("more.txt")
    forge.pulls.clear()
    forge.first = [slow, slow]
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert run.data["retryable"] is True
    assert run.data["details"]["done"] == [f"push {branch} to origin"]
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}
    forge.first = [(403, {"message": "API rate limit exceeded"}, used_up)]
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert (run.data["code"], run.data["retryable"]) == ("unavailable", True)
    assert ctx.task(number)["status"] == "REVIEW"


def test_a_forge_that_knows_no_token_says_so_and_it_is_not_shown(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, number, branch = started
    repo.commit()
    key = f"{forge.kind}_token"
    ctx.set(**{key: "expired-token-987654321"})
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert (run.code, run.data["code"]) == (3, "authentication_required")
    assert key in run.data["suggestions"][0]
    assert "expired-token" not in run.out + run.err
    assert branch in repo.remote_branches()
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def test_a_token_never_goes_to_a_host_that_only_the_repository_names(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, branch = started
    repo.commit()
    ctx.set(git_provider="github", github_token="precious-token-1234")
    address = "https://git.evil.example/acme/app.git"
    repo.git("config", f"url.{repo.bare}.insteadOf", address)
    repo.git("remote", "set-url", "origin", address)
    answer = ctx.json("tasks", "pr", at=repo.folder)
    page = f"https://git.evil.example/acme/app/compare/{branch}?expand=1"
    assert (answer["pr_url"], answer["created"]) == (page, False)
    assert "git_api_url" in answer["message"]


@pytest.mark.parametrize(
    "address",
    [
        "git@github.com:acme/app.git",
        "ssh://git@github.com:22/acme/app",
        "https://someone:pass-word-123@github.com/acme/app.git",
    ],
)
def test_without_a_token_the_compare_page_is_returned(
    started: tuple[Ctx, Repo, int, str], address: str
) -> None:
    ctx, repo, number, branch = started
    repo.commit()
    repo.git("config", f"url.{repo.bare}.insteadOf", address)
    repo.git("remote", "set-url", "origin", address)
    run = ctx("tasks", "pr", "--json", at=repo.folder)
    assert run.data["pr_url"] == f"https://github.com/acme/app/compare/{branch}?expand=1"
    assert "pass-word" not in run.out + run.err
    assert ctx.task(number)["status"] == "REVIEW"


def test_undo_takes_a_submission_back_and_keeps_its_commit(
    started: tuple[Ctx, Repo, int, str], forge: Forge
) -> None:
    ctx, repo, number, branch = started
    repo.write("README", "mended\n")
    before = repo.picture()
    ctx.json("tasks", "pr", "-m", "Mend", at=repo.folder)
    commit = repo.tip()

    ctx.json("undo", at=repo.folder)

    assert [pull.open for pull in forge.pulls] == [False]
    assert branch not in repo.remote_branches()
    assert ctx.task(number)["status"] == "IN_PROGRESS"
    assert (repo.folder / "README").read_text() == "mended\n"
    assert repo.branch() == before[2]
    assert repo.tip() == repo.tip("main")
    assert commit in repo.refs()


def test_it_never_prompts_even_with_a_terminal_that_nobody_watches(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, _ = started
    repo.write("README", "mended\n")
    process = ctx.process("tasks", "pr", "--json", at=repo.folder, stdin=subprocess.PIPE)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, '"commit_message_required"' in out) == (2, True)


def test_in_a_subfolder_everything_that_is_tracked_is_taken(
    started: tuple[Ctx, Repo, int, str],
) -> None:
    ctx, repo, _, _ = started
    below = repo.folder / "sub"
    below.mkdir()
    repo.write("README", "mended\n")
    repo.write("sub/new.txt")
    ctx.json("tasks", "pr", "-m", "x", "--add", "new.txt", at=below)
    assert repo.git("show", "--name-only", "--format=").split() == ["README", "sub/new.txt"]


def test_a_hung_git_is_ended_and_named(started: tuple[Ctx, Repo, int, str], tmp_path: Path) -> None:
    ctx, repo, number, _ = started
    repo.commit()
    ctx.set(git_timeout="1")
    mark = tmp_path / "hung"
    repo.hook(
        "pre-push", f"echo $$ > {mark}; exec {sys.executable} -c 'import time; time.sleep(60)'"
    )
    run = ctx.fails("tasks", "pr", at=repo.folder)
    assert (run.data["code"], run.reason) == ("timeout", "git_timeout")
    assert "git push" in run.data["error"]
    end = time.monotonic() + 20  # one that was killed may still be on its way out
    while _runs(int(mark.read_text())):
        assert time.monotonic() < end
    assert ctx.task(number)["status"] == "IN_PROGRESS"


def _runs(pid: int) -> bool:
    """Whether a process runs: a dead one that nobody has waited for does not."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")
