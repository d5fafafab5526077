"""What trees, remotes and programs do to a command: it goes on, or says why it cannot."""

import contextlib
import http.server
import json
import os
import socket
import subprocess
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git, kill_at

Started = tuple[Ctx, Repo, int, str]


@pytest.fixture
def started(ctx: Ctx, repo: Repo) -> Started:
    number = ctx.new("Mend")
    return ctx, repo, number, ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]


# what is committed


def test_a_staged_part_is_committed_alone_and_that_is_said(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.commit("other.txt")
    repo.write("README", "staged\n")
    repo.git("add", "README")
    repo.write("other.txt", "not yet\n")
    answer = ctx.json("tasks", "pr", "-m", "Part", at=repo.folder)
    assert answer["left_out"] == ["other.txt"]
    assert any("staged" in text for text in answer["warnings"])
    assert git(repo.bare, "show", f"{branch}:README") == "staged"
    assert git(repo.bare, "show", f"{branch}:other.txt") == "work"
    assert repo.git("status", "--porcelain") == "M other.txt"


def test_a_part_of_one_file_can_be_staged_and_a_rename_with_it(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.git("mv", "README", "README.md")
    repo.write("README.md", "hello\nmore\n")
    answer = ctx.json("tasks", "pr", "-m", "Rename", at=repo.folder)
    assert git(repo.bare, "show", f"{branch}:README.md") == "hello"
    assert answer["left_out"] == ["README.md"]


def test_what_leave_out_names_stays_and_the_rest_goes(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.commit(".tasky/tasks.json", "[]\n")
    repo.commit("old.txt")
    repo.write(".tasky/tasks.json", "[1]\n")
    repo.write("README", "mended\n")
    repo.git("mv", "old.txt", "new.txt")
    repo.git("add", "README")
    answer = ctx.json("tasks", "pr", "-m", "Mend", at=repo.folder)
    assert answer["left_out"] == [".tasky/tasks.json"]
    assert git(repo.bare, "show", f"{branch}:README") == "mended"
    assert git(repo.bare, "show", f"{branch}:.tasky/tasks.json") == "[]"
    assert "old.txt" not in git(repo.bare, "ls-tree", "--name-only", branch)
    assert repo.git("status", "--porcelain") == "M .tasky/tasks.json"
    assert ctx.json("tasks", "pr", at=repo.folder)["left_out"] == [".tasky/tasks.json"]


def test_only_new_files_are_proposed_by_name(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.write("src/new.py")
    run = ctx.fails("tasks", "pr", "-m", "New", at=repo.folder)
    assert (run.reason, run.data["details"]["paths"]) == ("nothing_to_submit", ["src/new.py"])
    assert run.data["suggestions"] == ["ctx tasks pr -m MESSAGE --add src/new.py"]
    ctx.json("tasks", "pr", "-m", "New", "--add", "src/new.py", at=repo.folder)
    assert git(repo.bare, "show", f"{branch}:src/new.py") == "text"


def test_a_file_whose_line_ends_alone_differ_holds_nothing_up(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.commit(".gitattributes", "* text=auto eol=lf\n")
    (repo.folder / "README").write_bytes(b"hello\r\n")
    assert "README" in repo.git("status", "--porcelain")
    ctx.json("tasks", "pr", at=repo.folder)
    repo.write("other.txt", "x\n")
    ctx.json("tasks", "pr", "-m", "Other", "--add", "other.txt", at=repo.folder)
    assert git(repo.bare, "show", f"{branch}:other.txt") == "x"


def test_work_inside_of_a_submodule_is_told_and_holds_nothing_up(
    started: Started, tmp_path: Path
) -> None:
    ctx, repo, _, branch = started
    part = tmp_path / "part"
    git(tmp_path, "init", "-q", "-b", "main", str(part))
    Repo(part, None).commit("part.txt")
    git(repo.folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
        str(part), "part")  # fmt: skip
    repo.git("commit", "-qm", "A part")
    (repo.folder / "part" / "part.txt").write_text("edited\n")
    answer = ctx.json("tasks", "pr", at=repo.folder)
    assert any("submodule" in text and "part" in text for text in answer["warnings"])
    repo.write("README", "mended\n")
    ctx.json("tasks", "pr", "-m", "Mend", at=repo.folder)
    assert git(repo.bare, "show", f"{branch}:README") == "mended"
    assert (repo.folder / "part" / "part.txt").read_text() == "edited\n"


@pytest.mark.parametrize("name", ["@", "FETCH_HEAD", "origin/main", "refs/heads/x", "ORIG_HEAD"])
def test_a_name_that_git_gives_a_meaning_is_no_branch(ctx: Ctx, repo: Repo, name: str) -> None:
    before = repo.picture()
    run = ctx.fails("tasks", "start", str(ctx.new()), "--branch", name, at=repo.folder)
    assert (run.code, run.reason) == (2, "bad_branch_name")
    assert repo.picture() == before


# the claim's journal


def test_what_is_pending_travels_with_the_claim_and_another_clone_goes_on(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    number = ctx.new()
    ctx.json("tasks", "start", str(number), at=repo.folder)
    repo.commit()
    database = ctx.home / ".cortex" / "tasks.db"
    repo.hook("pre-push", f"mv {database} {database}.gone; mkdir {database}")
    run = ctx.fails("tasks", "pr", at=repo.folder)
    database.rmdir()
    database.with_name("tasks.db.gone").rename(database)
    (repo.folder / ".git" / "hooks" / "pre-push").unlink()
    assert run.code == 10, run.out
    claim = git(repo.bare, "cat-file", "tag", f"refs/cortex/claims/{number}")
    assert json.loads(claim.partition("\n\n")[2])["pending"] == ["pr status"]
    assert str(tmp_path) not in claim

    there = tmp_path / "elsewhere"
    git(tmp_path, "clone", "-q", str(repo.bare), str(there))
    answer = ctx.json("tasks", "start", str(number), at=there)
    assert answer["claimed_by"]["pending"] == ["pr status"]
    assert ctx.json("tasks", "status", at=there)["claimed_by"]["pending"] == ["pr status"]
    ctx.json("tasks", "pr", at=there)
    assert ctx.task(number)["status"] == "REVIEW"

    ctx.json("tasks", "pr", at=repo.folder)
    claim = git(repo.bare, "cat-file", "tag", f"refs/cortex/claims/{number}")
    assert json.loads(claim.partition("\n\n")[2])["pending"] == []


# locks


def test_a_lock_of_a_dead_command_of_ours_is_removed_and_others_are_named(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    lock = repo.folder / ".git" / "index.lock"
    lock.touch()
    run = ctx.fails("tasks", "start", str(number), at=repo.folder)
    assert (run.reason, run.data["details"]["lock"]) == ("git_locked", str(lock))
    assert any(f"rm {lock}" in text for text in run.data["suggestions"])
    lock.unlink()

    words = ("tasks", "start", str(number))
    assert kill_at(ctx, repo.folder, words, "switch --quiet", "before")
    lock.touch()
    answer = ctx.json(*words, at=repo.folder)
    assert any(str(lock) in text for text in answer["warnings"])
    assert repo.branch() == answer["branch"]


# credentials


class _Remote(http.server.BaseHTTPRequestHandler):
    """A remote that wants a password, and then takes what `git http-backend` takes."""

    def _any(self) -> None:
        given = self.headers.get("Authorization", "").partition(" ")[2]
        if b64decode(given or b"").decode() != "ann:open sesame":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.let_in = True  # type: ignore[attr-defined]

    do_GET = do_POST = _any

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def guarded() -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Remote)
    server.let_in = False  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("by", ["helper", "askpass"])
def test_a_push_uses_the_helper_or_askpass_that_knows_the_password(
    ctx: Ctx, repo: Repo, tmp_path: Path, guarded: http.server.ThreadingHTTPServer, by: str
) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit()
    repo.git("remote", "set-url", "origin", f"http://127.0.0.1:{guarded.server_port}/app.git")
    if by == "helper":
        told = "[ $GCM_INTERACTIVE = never ] && echo username=ann && echo 'password=open sesame'"
        repo.git("config", "credential.helper", str(script(tmp_path / "helper", told)))
    else:
        told = 'case "$1" in Username*) echo ann ;; *) echo "open sesame" ;; esac'
        repo.git("config", "core.askPass", str(script(tmp_path / "askpass", told)))
    run = ctx.run_process("tasks", "pr", "--json", at=repo.folder)
    assert run.code != 0  # it lets us in, and is no git
    assert guarded.let_in  # type: ignore[attr-defined]


def test_an_askpass_that_does_not_answer_is_ended_and_named(
    ctx: Ctx, repo: Repo, tmp_path: Path, guarded: http.server.ThreadingHTTPServer
) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit()
    ctx.set(timeout="1")
    repo.git("remote", "set-url", "origin", f"http://127.0.0.1:{guarded.server_port}/app.git")
    silent = script(tmp_path / "silent", f"echo $$ >> {tmp_path / 'pids'}; exec sleep 600")
    os.environ["GIT_ASKPASS"] = str(silent)
    try:
        run = ctx.fails("tasks", "pr", at=repo.folder)
    finally:
        del os.environ["GIT_ASKPASS"]
    assert str(silent) in run.data["error"]
    deadline = time.monotonic() + 30
    while alive := [pid for pid in (tmp_path / "pids").read_text().split() if is_alive(pid)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.02)


def is_alive(pid: str) -> bool:
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def test_ssh_is_told_to_ask_nobody(ctx: Ctx, repo: Repo, tmp_path: Path) -> None:
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit()
    seen = tmp_path / "seen"
    told = script(tmp_path / "ssh", f'echo "$SSH_ASKPASS_REQUIRE $*" >> {seen}; exit 255')
    repo.git("config", "core.sshCommand", str(told))
    repo.git("remote", "set-url", "origin", "git@git.example.com:acme/app.git")
    assert ctx.fails("tasks", "pr", at=repo.folder).code in (7, 10)
    assert "never -o BatchMode=yes" in seen.read_text()


def test_a_mirror_remote_takes_a_tasks_branch(started: Started) -> None:
    ctx, repo, _, branch = started
    repo.git("config", "remote.origin.mirror", "true")
    repo.commit()
    ctx.json("tasks", "pr", at=repo.folder)
    assert branch in repo.remote_branches()


def test_a_remote_that_is_gone_is_told_by_its_cause(started: Started) -> None:
    ctx, repo, _, _ = started
    repo.commit()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        repo.git("remote", "set-url", "origin", f"git://127.0.0.1:{free.getsockname()[1]}/app.git")
    error = ctx.fails("tasks", "pr", at=repo.folder).data["error"]
    assert "unable to connect" in error
    assert "repository exists" not in error


def test_the_shell_completes_commands_and_options(ctx: Ctx, tmp_path: Path) -> None:
    (tmp_path / "ctx.bash").write_text(ctx("completion", "bash").out)
    ask = (
        f"source {tmp_path / 'ctx.bash'}; COMP_WORDS=(@); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1));"
        ' _ctx; echo "${COMPREPLY[*]}"'
    )

    def offered(words: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", ask.replace("(@)", f"({words})")],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert offered("ctx ta") == ["tasks"]
    assert offered("ctx tasks sy") == ["sync"]
    assert offered("ctx tasks sync --ab") == ["--abort"]
    assert "bashcompinit" in ctx("completion", "zsh").out


def test_version_and_no_command_answer_in_json_too(ctx: Ctx) -> None:
    assert set(ctx.json("--version")) == {"success", "version"}
    assert ctx.fails().reason == "usage"
