"""ctx is killed between any two steps, and running it again ends well: no commit is ever lost."""

import itertools
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cortex_lab import Ctx, Repo, git, kill_at, make_repo


class Scene:
    """A task at one stage of its life, copied for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ctx = Ctx(folder / "home")
        self.repo = Repo(folder / "app", folder / "app.git")

    def copy(self, folder: Path) -> "Scene":
        shutil.copytree(self.folder, folder, symlinks=True)
        other = Scene(folder)
        other.repo.git("remote", "set-url", "origin", str(folder / "app.git"))
        return other

    def commits(self) -> set[str]:
        """Every commit that any ref reaches, here or on the remote."""
        here = self.repo.git("rev-list", "--all").split()
        return {*here, *git(self.folder / "app.git", "rev-list", "--all").split()}

    def end(self, number: int) -> dict[str, Any]:
        """What a person can see of the end."""
        task = self.ctx.task(number)
        return {
            "branch": self.repo.branch(),
            "branches": self.repo.branches(),
            "remote": self.repo.remote_branches(),
            "files": self.repo.git("status", "--porcelain"),
            "task": (task["status"], task["branch_name"]),
            "locks": [str(path) for path in (self.folder / "app" / ".git").glob("*.lock")],
        }


def killed(scene: Scene, words: tuple[str, ...], point: int | str, when: str) -> bool:
    """Run `ctx` and kill it at the given call of git; whether it came to that."""
    return kill_at(scene.ctx, scene.repo.folder, words, point, when)


def settle(scene: Scene) -> None:
    """Wait for what the killed command's git still does: it is not killed with it."""
    busy = scene.folder / "app" / ".git" / "index.lock"
    deadline = time.monotonic() + 10
    while busy.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def sweep(
    make: Callable[[Path], tuple[Scene, int]],
    words: tuple[str, ...],
    folder: Path,
    points: "itertools.count[int] | list[str]",
) -> int:
    """Kill at each point, before and after, run again, and compare with an undisturbed run."""
    (folder / "first").mkdir()
    first, number = make(folder / "first")
    calm = first.copy(folder / "calm")
    run = calm.ctx(*words, "--json", at=calm.repo.folder)
    assert run.code == 0, run.out
    wanted = calm.end(number)
    kills = 0
    for point in points:
        happened = False
        for when in ("before", "after"):
            scene = first.copy(folder / f"{str(point).replace(' ', '-').replace('/', '-')}-{when}")
            seen = scene.commits()
            happened |= killed(scene, words, point, when)
            settle(scene)
            seen |= scene.commits()
            run = scene.ctx(*words, "--json", at=scene.repo.folder)
            assert run.code == 0, f"killed {when} call {point}: {run.out}"
            assert scene.end(number) == wanted, f"killed {when} call {point}"
            assert seen <= scene.commits(), f"killed {when} call {point}: a commit was lost"
            shutil.rmtree(scene.folder)
            kills += 1
        if not happened:
            break
    return kills


def started(folder: Path) -> tuple[Scene, int]:
    (folder / "home").mkdir()
    scene = Scene(folder)
    scene.ctx.set(url="local", timeout="10", use_worktree="false")
    make_repo(folder)
    return scene, scene.ctx.new("Mend")


def changed(folder: Path) -> tuple[Scene, int]:
    scene, number = started(folder)
    scene.ctx.json("tasks", "start", str(number), at=scene.repo.folder)
    scene.repo.write("README", "mended\n")
    scene.repo.write("new.txt")
    return scene, number


def merged(folder: Path) -> tuple[Scene, int]:
    scene, number = changed(folder)
    scene.ctx.json("tasks", "pr", "-m", "Mend", "--add", "new.txt", at=scene.repo.folder)
    scene.ctx.set(delete_local_on_done="true", delete_remote_on_done="true")
    scene.repo.merge_on_remote(scene.repo.branch())
    shutil.rmtree(folder / "forge-side")
    return scene, number


CASES = {
    "start": (started, ("tasks", "start", "1"), ["switch"]),
    "pr": (changed, ("tasks", "pr", "-m", "Mend", "--add", "new.txt"), ["push --porcelain"]),
    "done": (merged, ("tasks", "done"), ["update-ref -d"]),
}


@pytest.mark.parametrize("case", CASES)
def test_killed_at_its_changing_steps_a_second_run_ends_as_one_would(
    case: str, tmp_path: Path
) -> None:
    make, words, points = CASES[case]
    assert sweep(make, words, tmp_path, points) == 2 * len(points)


@pytest.mark.torture
@pytest.mark.parametrize("case", CASES)
def test_killed_before_or_after_any_call_of_git_a_second_run_ends_as_one_would(
    case: str, tmp_path: Path
) -> None:
    make, words, _ = CASES[case]
    assert sweep(make, words, tmp_path, itertools.count(1)) > 20
