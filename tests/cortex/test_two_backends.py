"""Tasks of the same number in two backends: each has a branch of its own, and none is mistaken."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, served_backend


class Both:
    """One person and one repository; task 1 of the local mode is started, then a backend is set."""

    def __init__(self, ctx: Ctx, repo: Repo, url: str) -> None:
        self.ctx = ctx
        self.repo = repo
        self.url = url
        self.local = self.begin()
        repo.commit()
        ctx.set(url=url)
        words = ("auth", "login", "--register", "--email", "ann@example.com", "--password-stdin")
        assert ctx(*words, stdin="secret words\n").code == 0
        assert ctx.new("Of the backend") == 1

    def begin(self) -> str:
        if not self.ctx.json("tasks", "list")["tasks"]:
            assert self.ctx.new("Of the local mode") == 1
        return str(self.ctx.json("tasks", "start", "1", at=self.repo.folder)["branch"])


@pytest.fixture
def both(ctx: Ctx, repo: Repo, tmp_path: Path) -> Iterator[Both]:
    (tmp_path / "backend").mkdir()
    with served_backend(tmp_path / "backend") as url:
        yield Both(ctx, repo, url)


def test_the_branch_of_another_backends_task_is_neither_submitted_nor_done(both: Both) -> None:
    ctx, repo = both.ctx, both.repo
    before = repo.picture()
    for words in (["pr"], ["done"], ["done", "--force"], ["done", "--task", "1"]):
        run = ctx.fails("tasks", *words, at=repo.folder)
        assert (run.code, run.reason) == (6, "other_backend")
        assert both.local in run.data["error"] and both.url in run.data["error"]
    assert repo.picture() == before
    assert ctx.task(1)["status"] == "TODO"

    ctx.set(url="local")
    assert ctx.json("tasks", "pr", at=repo.folder)["branch"] == both.local


def test_each_backends_task_starts_on_a_branch_of_its_own(both: Both) -> None:
    ctx, repo = both.ctx, both.repo
    run = ctx.fails("tasks", "start", "1", "--branch", both.local, at=repo.folder)
    assert run.reason == "other_backend"
    other = both.begin()
    assert other != both.local
    assert repo.branches() == {"main", both.local, other}

    repo.git("switch", "-q", "main")
    repo.commit()  # so that neither branch is the tip of main
    run = ctx.fails("tasks", "done", "--task", "1", at=repo.folder)
    assert other in run.data["error"]  # its own branch, which has no commit
    ctx.set(url="local")
    assert both.begin() == both.local


def test_a_backend_at_a_new_address_knows_its_branches(both: Both) -> None:
    branch = both.begin()
    both.repo.commit("more.txt")
    both.ctx.set(url=both.url.replace("127.0.0.1", "localhost"))
    assert both.ctx.json("tasks", "pr", at=both.repo.folder)["branch"] == branch


def test_undo_and_done_take_what_was_recorded_with_the_branch(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]

    def recorded() -> str:
        return repo.git("config", "--get", f"branch.{branch}.cortex-created", check=False)

    created = ctx.task(number)["created_at"]
    assert recorded() == created
    repo.commit()
    repo.git("push", "-q", "origin", "HEAD:main")
    ctx.set(delete_local_on_done="true")
    ctx.json("tasks", "done", at=repo.folder)
    assert recorded() == ""
    ctx.json("undo", at=repo.folder)
    assert recorded() == created
