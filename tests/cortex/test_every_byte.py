"""Any sequence of commands, edits and kills: every byte of the trees is accounted for after it.

Each file that the test writes has a text of its own. A command is looked at alone: each text that
was in some working tree before it, and each commit that a HEAD or a ref held, must be in a tree, in
a commit that a ref holds, or in a kept folder after it.
"""

import contextlib
import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from cortex_lab import Ctx, git, kill_at, make_repo
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

NAMES = st.sampled_from(["README", "data.db", "build/out", "build", "notes", "sub/file"])
TASKS = st.sampled_from([1, 2])
POINTS = st.integers(1, 45)
WHEN = st.sampled_from(["before", "after"])
COMMANDS = st.one_of(
    st.tuples(
        st.just("tasks"),
        st.just("start"),
        TASKS.map(str),
        st.sampled_from(["--worktree", "--no-worktree"]),
    ),
    st.just(("tasks", "pr", "-m", "Work")),
    st.just(("tasks", "pr", "-m", "Work", "--add", "notes")),
    st.tuples(st.just("tasks"), st.just("start"), TASKS.map(str), st.just("--keep")),
    st.just(("tasks", "sync", "--keep")),
    st.just(("tasks", "done", "--keep")),
    st.just(("undo", "--keep")),
    st.just(("tasks", "done")),
    TASKS.map(lambda number: ("tasks", "done", "--task", str(number))),
    st.just(("undo",)),
)


class Life(RuleBasedStateMachine):
    """Two tasks, one clone, a main branch that moves, and somebody who edits everything."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="every-byte-"))
        (self.place / "home").mkdir()
        self.ctx = Ctx(self.place / "home")
        self.ctx.set(
            url="local", timeout="10", delete_worktree_on_done="true",
            delete_local_on_done="true", delete_remote_on_done="true",
        )  # fmt: skip
        self.repo = make_repo(self.place)
        (self.repo.folder / ".git" / "info" / "exclude").write_text("data.db\nbuild\n")
        for title in ("One", "Two"):
            self.ctx.new(title)
        self.texts = (f"text {number}\n" for number in itertools.count())

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    # what people do

    @rule(name=NAMES, tree=st.integers(0, 2))
    def edit(self, name: str, tree: int) -> None:
        trees = self.trees()
        path = trees[tree % len(trees)] / name
        with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(next(self.texts))

    @rule(name=NAMES)
    def somebody_tracks(self, name: str) -> None:
        other = self.place / "somebody"
        git(self.place, "clone", "-q", str(self.repo.bare), str(other))
        path = other / name
        with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(next(self.texts))
        git(other, "add", "--all", "--force")
        git(other, "commit", "-q", "--allow-empty", "-m", "Theirs")
        git(other, "push", "-q", "origin", "HEAD:main")
        shutil.rmtree(other)

    @rule(number=TASKS)
    def somebody_merges(self, number: int) -> None:
        for branch in self.repo.remote_branches():
            if f"/task-{number}-" in branch:
                with contextlib.suppress(AssertionError):  # a conflict: it stays unmerged
                    self.repo.merge_on_remote(branch)
                shutil.rmtree(self.place / "forge-side")

    @rule()
    def detach_and_commit(self) -> None:
        self.repo.git("switch", "-q", "--detach")
        self.repo.git("commit", "-q", "--allow-empty", "-m", next(self.texts))

    # what is looked at

    @rule(words=COMMANDS, tree=st.integers(0, 2))
    def command(self, words: tuple[str, ...], tree: int) -> None:
        trees = self.trees()
        texts, commits = self.in_trees(), self.commits()
        run = self.ctx(*words, "--json", at=trees[tree % len(trees)])
        assert run.data.get("details", {}).get("reason") != "bug", run.out
        self.account(texts, commits, f"{words} ended with {run.code}: {run.out}")

    @rule(words=COMMANDS, point=POINTS, when=WHEN)
    def killed(self, words: tuple[str, ...], point: int, when: str) -> None:
        texts, commits = self.in_trees(), self.commits()
        kill_at(self.ctx, self.repo.folder, words, point, when)
        self.account(texts, commits, f"{words} killed {when} call {point}")
        for lock in self.repo.folder.glob(".git/**/*.lock"):
            lock.unlink()

    @invariant()
    def git_is_sound(self) -> None:
        self.repo.git("status", "--porcelain")

    def account(self, texts: set[str], commits: set[str], what: str) -> None:
        gone = texts - self.in_trees() - self.in_kept()
        gone -= self.in_commits() if gone else set()
        assert not gone, f"{what}: {sorted(gone)}"
        assert commits <= self.commits(), what

    def trees(self) -> list[Path]:
        out = self.repo.git("worktree", "list", "--porcelain")
        found = [Path(line[9:]) for line in out.splitlines() if line.startswith("worktree ")]
        return [path for path in found if path.exists()]

    def in_trees(self) -> set[str]:
        return {
            path.read_text()
            for tree in self.trees()
            for path in tree.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(tree).parts
        }

    def in_kept(self) -> set[str]:
        kept = self.repo.folder / ".git" / "cortex" / "kept"
        return {path.read_text() for path in kept.glob("*/tree/**/*") if path.is_file()}

    def in_commits(self) -> set[str]:
        objects = self.repo.git("rev-list", "--objects", "--all", "--no-object-names").split()
        out = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.repo.folder,
            input="\n".join(objects),
            capture_output=True,
            text=True,
            check=True,
            errors="replace",
        ).stdout
        return {line + "\n" for line in out.splitlines() if line.startswith("text ")}

    def commits(self) -> set[str]:
        heads = [git(tree, "rev-parse", "HEAD") for tree in self.trees()]
        return set(self.repo.git("rev-list", "--all", *heads).split())


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(2, 8), pytest.param(80, 30, marks=pytest.mark.torture)],
)
def test_every_byte_of_the_trees_is_accounted_for_after_every_command(
    examples: int, steps: int
) -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
