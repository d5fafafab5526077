"""What the Cortex tests stand on: real repositories, the real command, a real backend."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CTX = Path(sys.executable).with_name("ctx")
KILLER = """#!/bin/sh
count=$(cat {count} 2>/dev/null || echo 0)
case " $* " in *{call}*) count=$(($count + 1)); echo $count > {count} ;; *) exec {git} "$@" ;; esac
if [ $count -eq {point} ] && [ {when} = before ]; then kill -9 $PPID; exit 1; fi
{git} "$@"
code=$?
if [ $count -eq {point} ] && [ {when} = after ]; then kill -9 $PPID; fi
exit $code
"""
WHO = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")


@dataclass(frozen=True)
class Run:
    """One run of `ctx`: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        return json.loads(self.out)

    @property
    def reason(self) -> str | None:
        """Why it failed, as a stable word."""
        return self.data["details"].get("reason")


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a person would and return its output."""
    done = subprocess.run(
        ["git", *WHO, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, f"git {arguments}: {done.stderr}"
    return done.stdout.strip()


class Repo:
    """A clone with a bare remote called origin."""

    def __init__(self, folder: Path, bare: Path | None) -> None:
        self.folder = folder
        self.bare = bare

    def git(self, *arguments: str, check: bool = True) -> str:
        return git(self.folder, *arguments, check=check)

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, name: str = "work.txt", text: str = "work\n") -> str:
        self.write(name, text)
        self.git("add", "--all")
        self.git("commit", "-qm", f"Change {name}")
        return self.tip()

    def tip(self, ref: str = "HEAD") -> str:
        return self.git("rev-parse", ref)

    def branch(self) -> str:
        return self.git("branch", "--show-current")

    def branches(self) -> set[str]:
        return set(self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split())

    def remote_branches(self) -> set[str]:
        assert self.bare
        return set(
            git(self.bare, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        )

    def refs(self) -> str:
        return self.git("for-each-ref")

    def picture(self) -> tuple[str, str, str]:
        """All that a refused command must leave as it was."""
        return self.refs(), self.git("status", "--porcelain=v2", "--branch"), self.branch()

    def hook(self, name: str, script: str, *, remote: bool = False) -> None:
        folder = (self.bare if remote else self.folder / ".git") or self.folder
        path = folder / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def merge_on_remote(self, branch: str, *, squash: bool = False) -> None:
        """Merge a pushed branch into main, as a forge does, out of the clone's sight."""
        other = self.folder.parent / "forge-side"
        git(self.folder.parent, "clone", "-q", str(self.bare), str(other))
        if squash:
            git(other, "merge", "-q", "--squash", f"origin/{branch}")
            git(other, "commit", "-qm", "Squashed")
        else:
            git(other, "merge", "-q", "--no-ff", "-m", "Merge", f"origin/{branch}")
        git(other, "push", "-q", "origin", "HEAD:main")


def make_repo(folder: Path, *, remote: bool = True) -> Repo:
    """Return a repository with one commit on main, pushed."""
    work, bare = folder / "app", folder / "app.git"
    git(folder, "init", "-q", "-b", "main", str(work))
    git(work, "config", "user.name", "Ann")
    git(work, "config", "user.email", "ann@example.com")
    repo = Repo(work, bare if remote else None)
    repo.commit("README", "hello\n")
    if remote:
        git(folder, "init", "-q", "--bare", "-b", "main", str(bare))
        repo.git("remote", "add", "origin", str(bare))
        repo.git("push", "-q", "origin", "main")
    return repo


class Ctx:
    """The `ctx` of one person, whose home is a folder of the test."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @property
    def config_file(self) -> Path:
        return self.home / ".cortex" / "config.json"

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("CORTEX_")}
        return kept | {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}

    def __call__(self, *arguments: str, at: Path | None = None, stdin: str = "") -> Run:
        """Run the command's own main function here: the same code without a new interpreter."""
        from mcp_host_cortex_tasks.cli import main

        out, err = io.StringIO(), io.StringIO()
        with _standing(at or self.home, self.environment), contextlib.ExitStack() as pipes:
            pipes.enter_context(contextlib.redirect_stdout(out))
            pipes.enter_context(contextlib.redirect_stderr(err))
            before, sys.stdin = sys.stdin, io.StringIO(stdin)
            try:
                code = main(list(arguments))
            finally:
                sys.stdin = before
        return Run(code, out.getvalue(), err.getvalue())

    def json(self, *arguments: str, at: Path | None = None) -> dict[str, Any]:
        """Run a command that must succeed and return its JSON."""
        run = self(*arguments, "--json", at=at)
        assert run.code == 0, run.out + run.err
        return run.data

    def fails(self, *arguments: str, at: Path | None = None) -> Run:
        """Run a command that must fail with one JSON error on stdout."""
        run = self(*arguments, "--json", at=at)
        assert run.code != 0, run.out
        assert run.data["success"] is False
        return run

    def process(
        self, *arguments: str, at: Path, path: str | None = None, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[str]":
        """Start the installed command as a process of its own."""
        environment = self.environment | ({"PATH": path} if path else {})
        return subprocess.Popen(
            [str(CTX), *arguments],
            cwd=at,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_process(self, *arguments: str, at: Path, path: str | None = None) -> Run:
        """Run the installed command and wait for it."""
        process = self.process(*arguments, at=at, path=path)
        out, err = process.communicate(timeout=60)
        return Run(process.returncode, out, err)

    def set(self, **values: str) -> None:
        for key, value in values.items():
            assert self("config", "set", key, value).code == 0

    def new(self, title: str = "Do it", *more: str) -> int:
        return self.json("tasks", "new", title, *more)["task_id"]

    def task(self, number: int) -> dict[str, Any]:
        return self.json("tasks", "show", str(number))["task"]


@contextlib.contextmanager
def _standing(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Be in a folder with an environment, and come back."""
    here, before = Path.cwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def served_backend(home: Path, *arguments: str) -> Iterator[str]:
    """Serve the embedded backend on a free port and yield its address."""
    ctx = Ctx(home)
    process = subprocess.Popen(
        [str(CTX), "backend", "serve", "--port", "0", *arguments],
        env=ctx.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        line = process.stderr.readline()
        assert line.startswith("Cortex backend listening on "), line
        yield line.removeprefix("Cortex backend listening on ").strip()
    finally:
        process.terminate()
        process.communicate(timeout=20)


def kill_at(ctx: Ctx, folder: Path, words: tuple[str, ...], point: int | str, when: str) -> bool:
    """Run `ctx` and kill it `before` or `after` a call of git; whether it came to that.

    `point` is the number of the call, or words of it: then it is the first that has them.
    """
    tools = ctx.home.parent / "killer"
    tools.mkdir()
    found = shutil.which("git")
    call = "" if isinstance(point, int) else f"' {point} '"
    number = point if isinstance(point, int) else 1
    script = KILLER.format(count=tools / "count", point=number, when=when, git=found, call=call)
    (tools / "git").write_text(script)
    (tools / "git").chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    run = ctx.run_process(*words, "--json", at=folder, path=path)
    shutil.rmtree(tools)
    return run.code == -signal.SIGKILL
