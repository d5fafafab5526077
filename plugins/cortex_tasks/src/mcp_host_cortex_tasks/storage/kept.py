"""What our commands take out of sight and keep: commits under a ref of ours, folders by renaming.

Each item has a record, `$GIT_COMMON_DIR/cortex/kept/ID.json` (a `/` of the id is a `~` there), that
is written before the item is kept. A commit stands under `refs/cortex/kept/ID`. A worktree stands
beside its record as `ID/tree`, with what git knows of it (its index, its HEAD, the repositories of
its submodules) as `ID/admin`. Uncommitted work is both: a commit of what git tracks or would track,
in the shape of a stash, and its files, with ignored ones that were in the way, below `ID/tree`.
Files are renamed and never copied, and bytes of ignored files never become objects, so that no push
can carry them away.
"""

import contextlib
import errno
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..errors import CortexError, NotFoundError, RefusedError
from .files import private_folder, replace_text
from .git import Checkout, State, Worktree
from .uncommitted import apply, commit_of, files_of, put_away, put_back, uncommitted

KEPT = "refs/cortex/kept/"
KEPT_DAYS = 30
SHOWN_FILES = 200


@dataclass(frozen=True, slots=True)
class Item:
    """One kept thing. `kind` is `commit`, `worktree` or `work` (uncommitted). `at` is Unix time;
    `path` is the working tree that it was (in), `folder` where it is now."""

    id: str
    kind: str
    at: float | None = None
    task_id: int | None = None
    branch: str | None = None
    commit: str | None = None
    path: str | None = None
    folder: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return the item as plain data, without what it has not."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Kept:
    """The kept things of one repository."""

    def __init__(self, git: Checkout) -> None:
        self._git = git

    @property
    def _home(self) -> Path:
        return self._git.common / "cortex" / "kept"

    def items(self) -> list[Item]:
        """Return what is kept, the newest first; what has no record of its age comes last."""
        recorded = {item.id: item for item in self._records()}
        refs = {name.removeprefix(KEPT): tip for name, tip in self._git.refs(KEPT).items()}
        found = [
            Item(id=one, kind="commit", commit=refs[one]) for one in refs if one not in recorded
        ]
        for item in recorded.values():
            if (item.kind != "worktree" and item.id in refs) or self._has_tree(item.id):
                found.append(item)
        return sorted(found, key=lambda item: (-(item.at or 0), item.id))

    def get(self, wanted: str) -> Item:
        """Return one item; raise `NotFoundError` for an id that is none."""
        found = next((item for item in self.items() if item.id == wanted), None)
        if found is None:
            raise NotFoundError(
                f"Nothing is kept as {wanted}.",
                reason="nothing_kept",
                suggestions=["ctx kept list"],
            )
        return found

    # keeping

    def keep_commit(self, commit: str, wanted: str, *, branch: str | None, task_id: int) -> Item:
        """Hold a commit by a ref of ours; `wanted` is its id unless that is another's."""
        refs = {name.removeprefix(KEPT): tip for name, tip in self._git.refs(KEPT).items()}
        for one in self._ids(wanted):
            if refs.get(one) == commit:
                return self._record(Item(one, "commit", _now(), task_id, branch, commit))
            if not any(_blocks(one, other) for other in refs):
                item = Item(one, "commit", _now(), task_id, branch, commit)
                self._record(item)
                # "" demands that there is no such ref: nothing that was kept is replaced.
                self._git.ask("update-ref", KEPT + one, commit, "")
                return item
        raise AssertionError("there is always a free id")

    def keep_worktree(self, tree: Worktree, *, task_id: int, home: Path) -> Item | None:
        """Move a worktree out of sight, whole; None where its folder is gone already.

        `home` is a working tree that stays. Raise `RefusedError` where nothing can be renamed.
        """
        self.refuse_other_file_system(tree.path)
        admin = self._admin(tree.path)
        begun = next((item for item in self._records() if item.path == str(tree.path)
                      and item.kind == "worktree"
                      and (self._place(item.id) / "tree").exists()
                      and not (self._place(item.id) / "admin").exists()), None)  # fmt: skip
        if tree.path.exists():
            begun = self._move_tree(tree, task_id, self._git.commit_of("HEAD", at=tree.path))
        if begun is None:
            self._git.run("worktree", "remove", "--force", str(tree.path), at=home)
        elif admin is not None:
            admin.rename(self._place(begun.id) / "admin")
        return begun

    def keep_work(
        self, tree: Checkout, state: State, *ignored: str, task_id: int, clear: bool = True
    ) -> Item | None:
        """Keep what is uncommitted in a tree, with these ignored files; None where nothing is.

        With `clear` the tree is then as its HEAD has it, without the ignored files.
        """
        found = uncommitted(tree, state)
        if found is None and not ignored:
            return None
        self.refuse_other_file_system(tree.root)
        wanted = f"{state.branch or str(state.head)[:10]}.work"
        one = next(one for one in self._free_ids(wanted) if not self._place(one).exists())
        folder = self._place(one) / "tree"
        commit = None
        if found is not None:
            commit = commit_of(tree, found, f"{wanted}: uncommitted work kept by ctx")
        place = str(folder) if clear else None
        item = Item(one, "work", _now(), task_id, state.branch, commit, str(tree.root), place)
        self._record(item)
        if commit:
            self._git.ask("update-ref", KEPT + one, commit, "")
        if clear:
            private_folder(folder.parent)
            folder.mkdir()
            put_away(tree, [*(found.paths if found else ()), *ignored], folder)
        return item

    def refuse_other_file_system(self, path: Path) -> None:
        """Raise where a folder could be kept by copying only."""
        home = self._home if self._home.exists() else self._git.common
        if path.exists() and path.stat().st_dev != home.stat().st_dev:
            raise _other_file_system(path)

    def _move_tree(self, tree: Worktree, task_id: int, commit: str | None) -> Item:
        wanted = f"{tree.branch or tree.path.name}.worktree"
        one = next(one for one in self._ids(wanted) if not self._place(one).exists())
        folder = private_folder(self._place(one)) / "tree"
        item = Item(
            one, "worktree", _now(), task_id, tree.branch, commit, str(tree.path), str(folder)
        )
        self._record(item)
        try:
            tree.path.rename(folder)
        except OSError as error:
            self._forget(one)
            if error.errno == errno.EXDEV:
                raise _other_file_system(tree.path) from None
            raise RefusedError(
                f"{tree.path} cannot be moved away: {error.strerror}.", reason="worktree_busy"
            ) from None
        return item

    # giving back

    def restore(self, wanted: str) -> Item:
        """Put an item back: a worktree where it was, a commit as a branch. It is then kept no more.

        The answer's `branch` and `path` say where it is.
        """
        item = self.get(wanted)
        if item.kind == "work":
            return self._restore_work(item)
        return self._restore_tree(item) if item.kind == "worktree" else self._restore_commit(item)

    def _restore_work(self, item: Item) -> Item:
        """Put uncommitted work back into the tree at hand, which must have none of its own."""
        git, folder = self._git, self._place(item.id) / "tree"
        state = git.state()
        if mine := [*state.conflicted, *state.changed]:
            raise _blocked(item, mine, "Commit what is uncommitted here first")
        held = _files_below(folder) if folder.exists() else []
        changed, new = files_of(git, item.commit) if item.commit else (set(), set())
        tracked = {*git.ask("ls-files", "-z").split("\0")}
        coming = new | ({*held} - changed) | (changed - tracked)
        in_the_way = [
            path for path in sorted(coming)
            if (git.root / path).is_symlink() or (git.root / path).exists()
        ]  # fmt: skip
        if in_the_way:
            raise _blocked(item, in_the_way, "Move them away")
        if item.commit:
            apply(git, item.commit)
            if git.commit_of(f"{item.commit}^1") == state.head:
                for path in {*held} & (changed | new):  # the same bytes, whatever git's filters did
                    (git.root / path).unlink(missing_ok=True)
        put_back(git.root, folder, held)
        self.drop(item.id)
        return replace(item, path=str(git.root), folder=None)

    def _restore_tree(self, item: Item) -> Item:
        place, path = self._place(item.id), Path(str(item.path))
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RefusedError(
                f"{path} is in the way of what was kept.",
                reason="restore_blocked",
                suggestions=[f"Move it away, then: ctx kept restore {item.id}"],
            )
        if item.branch is not None:
            self._refuse_checked_out(item.branch)
            if item.commit and self._git.commit_of(f"refs/heads/{item.branch}") is None:
                self._git.ask("update-ref", f"refs/heads/{item.branch}", item.commit, "")
        path.parent.mkdir(parents=True, exist_ok=True)
        admin = place / "admin"
        if admin.exists():
            admin.rename(self._free_admin(admin, path, place / "tree" / ".git"))
        (place / "tree").rename(path)
        self._forget(item.id)
        return item

    def _restore_commit(self, item: Item) -> Item:
        commit = str(item.commit)
        taken = self._git.branches()
        names = [item.branch, f"kept/{item.id}", *(f"kept/{item.id}-{n}" for n in range(2, 100))]
        name = next(
            (one for one in names if one and not any(_blocks(one, other) for other in taken)), None
        )
        if name is None:
            raise RefusedError(f"No branch can be made for {item.id}.", reason="restore_blocked")
        self._git.ask("update-ref", f"refs/heads/{name}", commit, "")
        self.drop(item.id)
        return Item(item.id, "commit", item.at, item.task_id, name, commit)

    def _refuse_checked_out(self, branch: str) -> None:
        for tree in self._git.worktrees():
            if tree.branch == branch and not tree.gone:
                raise RefusedError(
                    f"{branch} is checked out in {tree.path}.", reason="restore_blocked"
                )

    # forgetting

    def drop(self, wanted: str) -> Item:
        """Delete an item for good."""
        item = self.get(wanted)
        if item.kind != "worktree" and item.commit:
            self._git.ask("update-ref", "-d", KEPT + item.id, str(item.commit))
        self._forget(item.id)
        return item

    def prune(self) -> None:
        """Delete what is older than 30 days. What has no age yet begins to age now."""
        if not (self._home.exists() or (self._git.common / KEPT).exists()):
            return
        with contextlib.suppress(CortexError, OSError):  # the next command tries again
            for item in self.items():
                if item.at is None:
                    self._record(Item(item.id, item.kind, _now(), commit=item.commit))
                elif item.at < _now() - KEPT_DAYS * 86400:
                    self.drop(item.id)

    def files(self, item: Item) -> list[str]:
        """Return the first files of a kept worktree, or those that a kept commit changed."""
        if item.kind == "commit":
            out = self._git.ask("show", "--format=", "--name-only", "-z", str(item.commit))
            return sorted(name for name in out.split("\0") if name)[:SHOWN_FILES]
        found: set[str] = set()
        if item.commit and item.kind == "work":
            found = set().union(*files_of(self._git, item.commit))
        tree = self._place(item.id) / "tree"
        below = (path for path in _walk(tree) if path != tree / ".git") if tree.exists() else ()
        some = zip(below, range(SHOWN_FILES), strict=False)
        return sorted(found | {str(path.relative_to(tree)) for path, _ in some})[:SHOWN_FILES]

    # where things are

    def _place(self, one: str) -> Path:
        return self._home / one.replace("/", "~")

    def _has_tree(self, one: str) -> bool:
        return (self._place(one) / "tree").exists()

    def _ids(self, wanted: str) -> Iterator[str]:
        yield wanted
        for number in range(2, 10_000):
            yield f"{wanted}-{number}"

    def _free_ids(self, wanted: str) -> Iterator[str]:
        """Yield ids that git can keep a ref under."""
        refs = [name.removeprefix(KEPT) for name in self._git.refs(KEPT)]
        return (one for one in self._ids(wanted) if not any(_blocks(one, other) for other in refs))

    def _record(self, item: Item) -> Item:
        replace_text(self._place(item.id).with_name(f"{self._place(item.id).name}.json"),
                     json.dumps(asdict(item), indent=1))  # fmt: skip
        return item

    def _records(self) -> Iterator[Item]:
        for path in sorted(self._home.glob("*.json")):
            try:
                yield Item(**json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError, TypeError):
                continue  # not one of ours

    def _forget(self, one: str) -> None:
        place = self._place(one)
        if place.exists():
            shutil.rmtree(place)
        place.with_name(f"{place.name}.json").unlink(missing_ok=True)

    def _admin(self, path: Path) -> Path | None:
        """Return git's own folder of the worktree at `path`."""
        for folder in sorted((self._git.common / "worktrees").glob("*")):
            try:
                named = (folder / "gitdir").read_text(encoding="utf-8").strip()
            except OSError:
                continue
            if (folder / named).parent == path or Path(named).parent.resolve() == path.resolve():
                return folder
        return None

    def _free_admin(self, admin: Path, path: Path, link: Path) -> Path:
        """Return where git's folder of a worktree goes back to, and let the tree name it."""
        home = private_folder(self._git.common / "worktrees")
        named = Path(link.read_text(encoding="utf-8").strip().removeprefix("gitdir: ")).name
        names = [named, *(f"{named}{number}" for number in range(1, 1000))]
        place = home / next(name for name in names if not (home / name).exists())
        link.write_text(f"gitdir: {place}\n", encoding="utf-8")
        (admin / "gitdir").write_text(f"{path / '.git'}\n", encoding="utf-8")
        return place


def _blocks(one: str, other: str) -> bool:
    """Tell whether git could not keep two refs of these names both."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        else:
            yield path


def _files_below(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in _walk(folder)]


def _blocked(item: Item, files: list[str], what: str) -> RefusedError:
    return RefusedError(
        f"{', '.join(files[:10])} is in the way of what was kept.",
        reason="restore_blocked",
        suggestions=[f"{what}, then: ctx kept restore {item.id}"],
        details={"files": files[:100]},
    )


def _now() -> float:
    return time.time()


def _other_file_system(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} is on another file system than the repository, so it cannot be kept by renaming.",
        reason="other_file_system",
        suggestions=[f"Save what you need of it, then: git worktree remove {path}"],
    )
