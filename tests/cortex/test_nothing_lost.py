"""What was in the tree stays: in the tree, in a commit that a ref holds, or in a kept folder."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo, git, kill_at


def upstream(repo: Repo, name: str, text: str = "theirs\n") -> None:
    """Somebody commits a file to the remote's main branch."""
    other = repo.folder.parent / f"other-{time.monotonic_ns()}"
    git(repo.folder.parent, "clone", "-q", str(repo.bare), str(other))
    path = other / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(other, "add", "--all", "--force")
    git(other, "commit", "-qm", f"Track {name}")
    git(other, "push", "-q", "origin", "HEAD:main")


def ignore(repo: Repo, *patterns: str) -> None:
    (repo.folder / ".git" / "info" / "exclude").write_text("\n".join(patterns))


def kept_id(data: dict[str, object]) -> str:
    (item,) = data["kept"]  # type: ignore[misc]
    return item["id"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("data.db", "data.db"),
        ("build/out.bin", "build/out.bin"),
        ("data.db", "data.db/part"),
        ("data/deep/mine.txt", "data"),
    ],
)
def test_start_refuses_where_main_tracks_what_is_ignored_here(
    ctx: Ctx, repo: Repo, mine: str, theirs: str
) -> None:
    number = ctx.new()
    ignore(repo, "data*", "build")
    repo.write(mine, "precious\n")
    upstream(repo, theirs)
    before = repo.branch(), repo.git("for-each-ref", "refs/heads")

    run = ctx.fails("tasks", "start", str(number), at=repo.folder)

    assert run.reason == "uncommitted_changes"
    assert run.data["details"]["files"] == [mine]
    assert mine in run.data["error"]
    assert (repo.branch(), repo.git("for-each-ref", "refs/heads")) == before
    assert (repo.folder / mine).read_text() == "precious\n"
    assert ctx.task(number)["status"] == "TODO"


def test_start_refuses_where_a_link_of_mine_stands_in_for_a_folder(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    number = ctx.new()
    ignore(repo, "data")
    (tmp_path / "elsewhere").mkdir()
    (repo.folder / "data").symlink_to(tmp_path / "elsewhere")
    upstream(repo, "data/part")
    run = ctx.fails("tasks", "start", str(number), at=repo.folder)
    assert run.data["details"]["files"] == ["data"]
    assert (repo.folder / "data").is_symlink()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_start_refuses_to_overwrite_a_change_that_git_was_told_not_to_see(
    ctx: Ctx, repo: Repo, flag: str
) -> None:
    number = ctx.new()
    repo.git("update-index", flag, "README")
    repo.write("README", "mine alone\n")
    upstream(repo, "README")
    run = ctx.fails("tasks", "start", str(number), at=repo.folder)
    assert run.data["details"]["files"] == ["README"]
    assert (repo.folder / "README").read_text() == "mine alone\n"


def test_what_start_carries_along_is_told(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.write("README", "changed\n")
    repo.write("notes.txt")
    answer = ctx.json("tasks", "start", str(number), at=repo.folder)
    assert answer["carried"] == ["README", "notes.txt"]


def test_commits_on_a_detached_head_get_a_ref_and_the_answer_names_it(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    repo.git("switch", "-q", "--detach")
    lost = repo.commit("experiment.txt")

    answer = ctx.json("tasks", "start", str(number), at=repo.folder)

    assert answer["kept"][0]["commit"] == lost
    assert lost in repo.refs()
    back = ctx.json("kept", "restore", kept_id(answer), at=repo.folder)
    assert repo.tip(f"refs/heads/{back['restored']['branch']}") == lost


def merged_task(ctx: Ctx, repo: Repo, *how: str) -> tuple[int, str, Repo]:
    """A task with a commit, pushed and merged on the remote; the tree it was worked on in."""
    number = ctx.new()
    start = ctx.json("tasks", "start", str(number), *how, at=repo.folder)
    tree = Repo(Path(start.get("worktree", repo.folder)), repo.bare)
    tree.commit(f"work-{number}.txt")
    ctx.json("tasks", "pr", at=tree.folder)
    shutil.rmtree(repo.folder.parent / "forge-side", ignore_errors=True)
    repo.merge_on_remote(start["branch"])
    return number, start["branch"], tree


def test_done_stays_on_the_branch_where_main_tracks_what_is_ignored_here(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(delete_local_on_done="true")
    ignore(repo, "data.db")
    _, branch, _ = merged_task(ctx, repo)
    upstream(repo, "data.db")
    repo.git("fetch", "-q", "origin", "main:main")
    repo.write("data.db", "precious\n")
    answer = ctx.json("tasks", "done", at=repo.folder)
    assert (repo.branch(), answer["cleaned"]) == (branch, [])
    assert "data.db" in answer["warnings"][0]
    assert (repo.folder / "data.db").read_text() == "precious\n"


def test_done_leaves_no_uncommitted_work_on_main_and_tells_of_new_files(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(delete_local_on_done="true")
    _, branch, _ = merged_task(ctx, repo)
    repo.write("README", "half done\n")
    answer = ctx.json("tasks", "done", at=repo.folder)
    assert (repo.branch(), "README" in answer["warnings"][0]) == (branch, True)
    repo.git("checkout", "-q", "README")
    repo.write("notes.txt")
    again = ctx.json("tasks", "done", at=repo.folder)
    assert (repo.branch(), again["carried"]) == ("main", ["notes.txt"])


def test_a_worktree_that_done_removes_is_kept_whole_and_comes_back(ctx: Ctx, repo: Repo) -> None:
    ctx.set(delete_worktree_on_done="true", delete_local_on_done="true")
    ignore(repo, ".env", "data.db")
    _, branch, tree = merged_task(ctx, repo, "--worktree")
    tree.write(".env", "KEY=1\n")
    tree.write("data.db", "rows\n")

    answer = ctx.json("tasks", "done", at=tree.folder)

    assert answer["cleaned"] == ["worktree", "local_branch"]
    assert not tree.folder.exists()
    folder = Path(answer["kept"][0]["folder"])
    assert ((folder / ".env").read_text(), (folder / "data.db").read_text()) == (
        "KEY=1\n",
        "rows\n",
    )
    assert folder.is_relative_to(repo.folder / ".git" / "cortex" / "kept")
    listed = ctx.json("kept", "list", at=repo.folder)["kept"]
    assert [item["id"] for item in listed] == [kept_id(answer)]
    shown = ctx.json("kept", "show", kept_id(answer), at=repo.folder)["kept"][0]
    assert {".env", "data.db"} <= set(shown["files"])
    blobs = repo.git("cat-file", "--batch-check", "--batch-all-objects")
    assert git(folder.parent, "hash-object", str(folder / ".env")) not in blobs

    ctx.json("kept", "restore", kept_id(answer), at=repo.folder)

    assert (tree.folder / ".env").read_text() == "KEY=1\n"
    assert (tree.branch(), tree.git("status", "--porcelain")) == (branch, "")
    assert ctx.json("kept", "list", at=repo.folder)["kept"] == []


def test_undo_of_a_start_keeps_the_worktree_and_of_a_done_brings_it_back(
    ctx: Ctx, repo: Repo
) -> None:
    ctx.set(delete_worktree_on_done="true")
    ignore(repo, ".env")
    number = ctx.new()
    start = ctx.json("tasks", "start", str(number), "--worktree", at=repo.folder)
    tree = Repo(Path(start["worktree"]), repo.bare)
    tree.write(".env", "KEY=1\n")
    undone = ctx.json("undo", at=tree.folder)
    assert Path(undone["kept"][0]["folder"], ".env").read_text() == "KEY=1\n"
    assert repo.branches() == {"main"}

    _, branch, tree = merged_task(ctx, repo, "--worktree")
    tree.write(".env", "KEY=2\n")
    ctx.json("tasks", "done", at=tree.folder)
    ctx.json("undo", at=repo.folder)
    assert ((tree.folder / ".env").read_text(), tree.branch()) == ("KEY=2\n", branch)


def test_undo_of_a_start_names_the_work_that_a_worktree_holds(ctx: Ctx, repo: Repo) -> None:
    start = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
    Repo(Path(start["worktree"]), None).write("precious.txt")
    run = ctx.fails("undo", at=repo.folder)
    assert run.data["details"]["files"] == ["precious.txt"]
    assert (Path(start["worktree"]) / "precious.txt").exists()


def test_undo_refuses_to_overwrite_what_is_ignored(ctx: Ctx, repo: Repo) -> None:
    repo.git("switch", "-qc", "other")
    repo.commit("data.db", "theirs\n")
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    ignore(repo, "data.db")
    repo.write("data.db", "precious\n")
    run = ctx.fails("undo", at=repo.folder)
    assert run.data["details"]["files"] == ["data.db"]
    assert (repo.folder / "data.db").read_text() == "precious\n"


def test_a_second_commit_kept_for_a_branch_does_not_replace_the_first(ctx: Ctx, repo: Repo) -> None:
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    tips = []
    for name in ("one", "two"):
        repo.write(f"{name}.txt")
        ctx.json("tasks", "pr", "-m", name, "--add", f"{name}.txt", at=repo.folder)
        tips.append(repo.tip())
        ctx.json("undo", at=repo.folder)
    held = repo.refs()
    assert all(tip in held for tip in tips)
    assert len(ctx.json("kept", "list", at=repo.folder)["kept"]) == 2
    assert branch == repo.branch()


def test_a_worktree_on_another_file_system_stays_and_the_answer_says_why(
    ctx: Ctx, repo: Repo
) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == repo.folder.stat().st_dev:
        pytest.skip("there is no second file system here")
    ctx.set(delete_worktree_on_done="true")
    place = memory / f"cortex-{os.getpid()}-{time.monotonic_ns()}"
    number = ctx.new()
    branch = ctx.json("tasks", "start", str(number), at=repo.folder)["branch"]
    repo.git("switch", "-q", "main")
    repo.git("worktree", "add", "-q", str(place), branch)
    try:
        tree = Repo(place, repo.bare)
        tree.commit()
        ctx.json("tasks", "pr", at=place)
        repo.merge_on_remote(branch)
        answer = ctx.json("tasks", "done", at=place)
        assert answer["cleaned"] == []
        assert "another file system" in answer["warnings"][0]
        assert (place / "work.txt").exists()
    finally:
        shutil.rmtree(place)


def test_commits_in_a_submodule_of_a_worktree_are_kept_with_it(
    ctx: Ctx, repo: Repo, tmp_path: Path
) -> None:
    ctx.set(delete_worktree_on_done="true")
    git(tmp_path, "init", "-q", "-b", "main", "library")
    Repo(tmp_path / "library", None).commit("library.txt")
    allow = ("-c", "protocol.file.allow=always")
    repo.git(*allow, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    repo.git("commit", "-qm", "A library")
    repo.git("push", "-q", "origin", "main")
    start = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
    tree = Repo(Path(start["worktree"]), repo.bare)
    tree.git(*allow, "submodule", "--quiet", "update", "--init")
    inner = Repo(tree.folder / "lib", None)
    tip = inner.commit("inner.txt")
    inner.git("switch", "-qc", "topic")
    tree.git("commit", "-qam", "Newer library")
    ctx.json("tasks", "pr", at=tree.folder)
    repo.merge_on_remote(start["branch"])

    answer = ctx.json("tasks", "done", at=tree.folder)
    assert answer["cleaned"] == ["worktree"]
    ctx.json("kept", "restore", kept_id(answer), at=repo.folder)
    assert inner.tip("topic") == tip


def test_what_is_kept_is_dropped_on_demand_and_after_30_days(ctx: Ctx, repo: Repo) -> None:
    ids = []
    for _ in range(3):
        ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
        ids.append(kept_id(ctx.json("undo", at=repo.folder)))
    ctx.json("kept", "drop", ids[0], at=repo.folder)
    assert ctx.fails("kept", "show", ids[0], at=repo.folder).reason == "nothing_kept"
    home = repo.folder / ".git" / "cortex" / "kept"
    for one, days in ((ids[1], 29), (ids[2], 31)):
        record = home / f"{one.replace('/', '~')}.json"
        data = json.loads(record.read_text())
        record.write_text(json.dumps(data | {"at": data["at"] - days * 86400}))

    ctx.json("kept", "list", at=repo.folder)
    assert len(list(home.glob("*/tree"))) == 2  # a command that reads deletes nothing
    ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)

    assert [item["id"] for item in ctx.json("kept", "list", at=repo.folder)["kept"]] == [ids[1]]
    assert [path.parent.name for path in home.glob("*/tree")] == [ids[1].replace("/", "~")]


def test_restore_refuses_where_something_is_in_the_way(ctx: Ctx, repo: Repo) -> None:
    start = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
    one = kept_id(ctx.json("undo", at=repo.folder))
    place = Path(start["worktree"])
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("mine\n")
    assert ctx.fails("kept", "restore", one, at=repo.folder).reason == "restore_blocked"
    assert (place / "mine.txt").read_text() == "mine\n"
    (place / "mine.txt").unlink()
    ctx.json("kept", "restore", one, at=repo.folder)
    assert Repo(place, None).branch() == start["branch"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "point",
    [
        "worktree list",
        pytest.param("rev-parse --verify", marks=pytest.mark.torture),
        "update-ref -d",
        pytest.param(0, marks=pytest.mark.torture),
    ],
)
def test_killed_while_a_worktree_goes_nothing_of_it_is_lost(
    ctx: Ctx, repo: Repo, point: int | str, when: str
) -> None:
    ctx.set(delete_worktree_on_done="true", delete_local_on_done="true")
    ignore(repo, ".env")
    for call in [point] if point else range(1, 60):
        number, branch, tree = merged_task(ctx, repo, "--worktree")
        tree.write(".env", f"KEY={number}\n")
        words = ("tasks", "done", "--task", str(number))
        happened = kill_at(ctx, repo.folder, words, call, when)
        ctx.json(*words, at=repo.folder)
        assert ctx.task(number)["status"] == "DONE"
        assert not tree.folder.exists()
        assert branch not in repo.branches()
        texts = [path.read_text() for path in repo.folder.glob(".git/cortex/kept/*/tree/.env")]
        assert f"KEY={number}\n" in texts, f"killed {when} call {call}"
        if not happened:
            break


def test_uncommitted_work_is_kept_as_a_commit_and_comes_back_as_it_was(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    ignore(repo, "data.db")
    upstream(repo, "data.db")
    repo.write("data.db", "precious\n")
    repo.write("README", "staged\n")
    repo.git("add", "README")
    repo.write("README", "half done\r\n")
    repo.write("sub/notes.txt", "new\n")
    before = repo.git("status", "--porcelain")

    answer = ctx.json("tasks", "start", str(number), "--keep", at=repo.folder)

    assert (repo.git("status", "--porcelain"), "carried" in answer) == ("", False)
    assert (repo.folder / "data.db").read_text() == "theirs\n"
    (item,) = answer["kept"]
    commit = item["commit"]
    assert repo.tip(f"refs/cortex/kept/{item['id']}") == commit
    assert repo.git("show", f"{commit}:README") == "half done"
    assert repo.git("show", f"{commit}^2:README") == "staged"
    assert repo.git("show", f"{commit}^3:sub/notes.txt") == "new"
    blobs = repo.git("cat-file", "--batch-check", "--batch-all-objects")
    assert git(repo.folder, "hash-object", f"{item['folder']}/data.db") not in blobs
    shown = ctx.json("kept", "show", item["id"], at=repo.folder)["kept"][0]
    assert shown["files"] == ["README", "data.db", "sub/notes.txt"]

    blocked = ctx.fails("kept", "restore", item["id"], at=repo.folder)
    assert (blocked.reason, blocked.data["details"]["files"]) == ("restore_blocked", ["data.db"])
    ctx.json("undo", at=repo.folder)  # which also puts back what was kept
    assert (repo.branch(), repo.git("status", "--porcelain")) == ("main", before)
    assert (repo.folder / "data.db").read_text() == "precious\n"
    assert (repo.folder / "README").read_bytes() == b"half done\r\n"
    assert ctx.json("kept", "list", at=repo.folder)["kept"] == []


def test_done_and_undo_keep_what_a_worktree_holds(ctx: Ctx, repo: Repo) -> None:
    ctx.set(delete_worktree_on_done="true", delete_local_on_done="true")
    ignore(repo, ".env")
    _, branch, tree = merged_task(ctx, repo, "--worktree")
    tree.write(".env", "KEY=1\n")
    tree.write("README", "half done\n")
    stays = ctx.json("tasks", "done", at=tree.folder)
    assert (stays["cleaned"], tree.folder.exists()) == ([], True)

    answer = ctx.json("tasks", "done", "--keep", at=tree.folder)

    assert answer["cleaned"] == ["worktree", "local_branch"]
    work, whole = answer["kept"]
    assert (work["kind"], whole["kind"]) == ("work", "worktree")
    assert repo.git("show", f"{work['commit']}:README") == "half done"
    ctx.json("kept", "restore", whole["id"], at=repo.folder)
    assert (tree.branch(), tree.git("status", "--porcelain")) == (branch, "M README")
    assert (tree.folder / ".env").read_text() == "KEY=1\n"
    again = ctx.fails("kept", "restore", work["id"], at=tree.folder)
    assert again.data["details"]["files"] == ["README"]

    start = ctx.json("tasks", "start", str(ctx.new()), "--worktree", at=repo.folder)
    Repo(Path(start["worktree"]), None).write("precious.txt")
    undone = ctx.json("undo", "--keep", at=repo.folder)
    assert [item["kind"] for item in undone["kept"]] == ["work", "worktree"]
    ctx.json("kept", "restore", undone["kept"][0]["id"], at=repo.folder)
    assert (repo.folder / "precious.txt").exists()


def test_done_and_sync_keep_uncommitted_work_that_is_in_the_way(ctx: Ctx, repo: Repo) -> None:
    ctx.set(delete_local_on_done="true")
    start = ctx.json("tasks", "start", str(ctx.new()), at=repo.folder)
    repo.commit("work.txt")
    upstream(repo, "notes.txt")
    repo.write("notes.txt", "mine\n")
    repo.write("README", "half done\n")
    assert "--keep" in ctx.fails("tasks", "sync", at=repo.folder).out
    kept = ctx.json("tasks", "sync", "--keep", at=repo.folder)["kept"]
    assert (repo.folder / "notes.txt").read_text() == "theirs\n"
    work = next(item for item in kept if item["kind"] == "work")
    assert (Path(work["folder"]) / "notes.txt").read_text() == "mine\n"

    ctx.json("tasks", "pr", at=repo.folder)
    repo.merge_on_remote(start["branch"])
    repo.write("README", "more\n")
    answer = ctx.json("tasks", "done", "--keep", at=repo.folder)
    assert (repo.branch(), answer["cleaned"]) == ("main", ["local_branch"])
    assert repo.git("show", f"{answer['kept'][0]['commit']}:README") == "more"


def test_start_with_keep_leaves_one_tasks_work_behind_and_names_what_it_cannot_keep(
    ctx: Ctx, repo: Repo
) -> None:
    one, two = ctx.new("One"), ctx.new("Two")
    first = ctx.json("tasks", "start", str(one), at=repo.folder)["branch"]
    repo.write("README", "of one\n")
    words = ("tasks", "start", str(two), "--no-worktree")
    assert ctx.fails(*words, at=repo.folder).reason == "folder_taken"
    answer = ctx.json(*words, "--keep", at=repo.folder)
    assert answer["kept"][0]["branch"] == first
    assert (repo.branch(), repo.git("status", "--porcelain")) == (answer["branch"], "")

    repo.git("update-index", "--assume-unchanged", "README")
    repo.write("README", "unseen\n")
    upstream(repo, "README")
    words = ("tasks", "start", str(ctx.new("Three")), "--no-worktree", "--keep")
    assert ctx.fails(*words, at=repo.folder).data["details"]["files"] == ["README"]
    assert (repo.folder / "README").read_text() == "unseen\n"


def test_where_git_does_not_put_the_tree_back_what_was_kept_stays_in_it(
    ctx: Ctx, repo: Repo
) -> None:
    number = ctx.new()
    repo.write("README", "half done\n")
    (repo.folder / ".git" / "index.lock").write_text("")
    assert ctx.fails("tasks", "start", str(number), "--keep", at=repo.folder).code
    assert (repo.folder / "README").read_text() == "half done\n"
