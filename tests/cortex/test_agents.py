"""Many agents at once, with hooks and kills: each task's branch holds its own work alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cortex_lab import CTX, Ctx, Repo, git

BUSY = ("busy", "unavailable", "timeout")
ATTEMPTS = 40


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@dataclass
class Site:
    """A remote, its clones, and everybody's tasks in local mode."""

    ctx: Ctx
    repo: Repo
    clones: list[Path]
    merging: threading.Lock = field(default_factory=threading.Lock)

    def merge(self, branch: str, number: int) -> None:
        """Somebody squashes or merges a pushed branch into main."""
        with self.merging:
            side = self.repo.folder.parent / "side"
            if not side.exists():
                git(side.parent, "clone", "-q", str(self.repo.bare), str(side))
            git(side, "fetch", "-q", "origin")
            git(side, "switch", "-q", "-C", "main", "origin/main")
            if number % 2:
                git(side, "merge", "-q", "--squash", f"origin/{branch}")
                git(side, "commit", "-qm", f"Squash {number}")
            else:
                git(side, "merge", "-q", "--no-ff", "-m", f"Merge {number}", f"origin/{branch}")
            git(side, "push", "-q", "origin", "main")


@dataclass
class Agent:
    """One agent with a session of its own, whose commands are killed at times."""

    site: Site
    name: str
    dice: random.Random

    def run(self, folder: Path, *words: str) -> dict[str, Any]:
        """Run a command until it is through; some of its runs are killed on the way."""
        for _ in range(ATTEMPTS):
            environment = self.site.ctx.environment | {
                "CORTEX_SESSION": self.name,
                "CORTEX_WORKTREE": "always",
            }
            process = subprocess.Popen(
                [str(CTX), *words, "--json"], cwd=folder, env=environment, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            killer = None
            if self.dice.random() < 0.15:
                killer = threading.Timer(self.dice.uniform(0.05, 1.5), process.kill)
                killer.start()
            out, err = process.communicate(timeout=300)
            if killer is not None:
                killer.cancel()
            if process.returncode == -signal.SIGKILL:
                continue
            answer: dict[str, Any] = json.loads(out)
            again = answer.get("code") in BUSY or answer.get("details", {}).get("reason") in (
                "git_locked",
                "changed_meanwhile",
            )
            if process.returncode == 0 or not again:
                assert answer.get("details", {}).get("reason") != "bug", out + err
                return answer
        raise AssertionError(f"{words} never came through")

    def work(self, number: int) -> tuple[int, str, bool]:
        """Take one task from start to its end; whether it was merged."""
        site = self.site
        home = site.clones[number % len(site.clones)]
        begun = self.run(home, "tasks", "start", str(number))
        assert begun["success"], begun
        room = Path(begun["project"])
        (room / f"task-{number}.txt").write_text(f"work of {number}\n")
        (room / ".env").write_text(f"secret of {number}\n")
        early = self.run(room, "tasks", "done", "--task", str(number))
        assert not early["success"], early
        name = f"task-{number}.txt"
        sent = self.run(
            room, "tasks", "pr", "--task", str(number), "-m", f"Task {number}", "--add", name
        )
        if not sent["success"]:  # a killed run had committed it: then there is nothing to add
            sent = self.run(room, "tasks", "pr", "--task", str(number))
        assert sent["success"], sent
        merged = number % 4 != 0
        if merged:
            site.merge(begun["branch"], number)
        ended = self.run(room if room.exists() else home, "tasks", "done", "--task", str(number))
        assert ended["success"] == merged, ended
        return number, begun["branch"], merged


def test_two_agents_at_two_tasks_over_a_slow_network_keep_their_work_apart(
    ctx: Ctx, repo: Repo
) -> None:
    keep_apart(ctx, repo, clones=2, agents=2, tasks=2, lag=0.1)


@pytest.mark.torture
@pytest.mark.parametrize("lag", [0.0, 0.5])
@pytest.mark.parametrize("clones", [1, 4])
def test_eight_agents_at_twenty_tasks_keep_their_work_apart(
    ctx: Ctx, repo: Repo, clones: int, lag: float
) -> None:
    """`CORTEX_AGENTS` and `CORTEX_TASKS` make it another size: 120 tasks take about ten minutes."""
    agents, tasks = (
        int(os.environ.get(f"CORTEX_{name}", usual))
        for name, usual in (("AGENTS", "8"), ("TASKS", "20"))
    )
    keep_apart(ctx, repo, clones, agents, tasks, lag)


def keep_apart(ctx: Ctx, repo: Repo, clones: int, agents: int, tasks: int, lag: float) -> None:
    """Let agents work at tasks in clones, whose remote answers so many seconds late; look at all
    that came of it."""
    ctx.set(timeout="120", delete_worktree_on_done="true", delete_local_on_done="true")
    repo.write(".gitignore", ".env\n")
    repo.git("add", "--all")
    repo.git("commit", "-qm", "Ignore")
    repo.git("push", "-q", "origin", "main")
    places = [repo.folder.parent / f"clone{n}" for n in range(clones)]
    for place in places:
        git(place.parent, "clone", "-q", str(repo.bare), str(place))
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.com")):
            git(place, "config", key, value)
        for service in ("upload-pack", "receive-pack") if lag else ():
            program = script(
                place.parent / f"slow-{service}", f'sleep {lag}; exec git-{service} "$@"'
            )
            git(place, "config", f"remote.origin.{service.replace('-', '')}", str(program))
        hook = place / ".git" / "hooks" / "pre-push"
        script(hook, "sleep 0.2")
    numbers = [ctx.new(f"Task {n}") for n in range(tasks)]
    site = Site(ctx, repo, places)
    everybody = [Agent(site, f"agent{n}", random.Random(n)) for n in range(agents)]

    with ThreadPoolExecutor(agents) as pool:
        waiting = [
            pool.submit(everybody[index % agents].work, number)
            for index, number in enumerate(numbers)
        ]
        ends = [one.result() for one in waiting]

    main = git(repo.bare, "ls-tree", "--name-only", "main").splitlines()
    for number, branch, merged in ends:
        name = f"task-{number}.txt"
        own = git(repo.bare, "log", "--format=%s", f"main..{branch}").splitlines()
        changed = git(repo.bare, "diff", "--name-only", f"main...{branch}").splitlines()
        assert (name in main) == merged
        if not merged:
            assert (own, changed) == ([f"Task {number}"], [name])
        assert ctx.task(number)["status"] == ("DONE" if merged else "REVIEW")
    secrets = {path.read_text() for place in places for path in place.parent.rglob(".env")}
    assert secrets >= {f"secret of {number}\n" for number in numbers}
    for place in places:
        shutil.rmtree(place)
