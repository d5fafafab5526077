"""What a commit would take of a working tree, and what it leaves where it is."""

from dataclasses import dataclass
from functools import cached_property

from ..errors import BusyError, InvalidError
from ..storage.git import State, refusal
from .plan import Refs
from .work import Work

SHOWN = 100


@dataclass
class Changes:
    """The changes of the tree at hand, and the untracked paths that were named.

    Where a part is staged and a part is not, the commit takes what is staged. What the setting
    `leave_out` names stays, and so does what git would not commit: work inside of a submodule, and
    a file whose line ends alone differ.
    """

    work: Work
    state: State
    paths: tuple[str, ...] = ()

    @cached_property
    def tracked(self) -> list[str]:
        """The tracked files that a commit would take."""
        taken = self.state.staged if self._by_stage else self.state.changed
        return [path for path in taken if path in self._real and not self.work.is_left_out(path)]

    @cached_property
    def named(self) -> list[str]:
        """The untracked files at or below the paths that were named."""
        found: list[str] = []
        for path in self.paths:
            inside = self._inside(path)
            below = [name for name in self.state.untracked if _is_below(name, inside)]
            # A path that is tracked is fine: an interrupted run may have committed it.
            known = self.work.checkout.run("ls-files", "--", literal(inside)).out
            if not below and not known:
                raise InvalidError(
                    f"There is nothing to add at {path}.",
                    reason="bad_path",
                    details={"untracked": list(self.state.untracked[:SHOWN])},
                )
            found += below
        return found

    @property
    def all(self) -> list[str]:
        """Every file that a commit would take."""
        return [*self.tracked, *self.named]

    @property
    def left_out(self) -> list[str]:
        """What stays in the tree: untracked files, what is not staged, what the settings name."""
        named = {*self.named, *self.tracked}
        untracked = [path for path in self.state.untracked if path not in named]
        rest = [path for path in self._unstaged_rest if path not in untracked]
        set_aside = [
            path
            for path in self.state.changed
            if self.work.is_left_out(path) and path in self._real and path not in rest
        ]
        return [*untracked, *rest, *set_aside]

    @property
    def notes(self) -> list[str]:
        """What should be known of what stays, a sentence each."""
        told = []
        if self._by_stage:
            told.append("Only what is staged was taken; the other changes are still here.")
        inside = [path for path in self.state.changed if path not in self._real]
        modules = [path for path in inside if (self.work.checkout.root / path).is_dir()]
        if modules:
            told.append(f"Work inside of a submodule is not taken: {', '.join(modules[:10])}.")
        return told

    def commit(self, message: str) -> Refs:
        """Commit what is taken. Where git refuses, the index is as it was."""
        git, named = self.work.checkout, [literal(path) for path in self.named]
        if git.state().branch != self.state.branch:
            raise BusyError(
                f"Another command has switched this folder away from {self.state.branch}.",
                reason="repository_locked",
                suggestions=["Run this again."],
            )
        if named:
            git.ask("add", *(() if self._by_stage else ("--intent-to-add",)), "--", *named)
        how, given = self._how()
        answer = git.run(
            "commit", "--quiet", f"--message={message}", *how, limit=git.hook_limit, given=given
        )
        if not answer.ok:
            if named:
                git.run("reset", "--quiet", "--", *named)
            raise refusal(answer, "Git does not commit", reason="commit_refused")
        return {"commit": git.commit_of("HEAD")}

    def _how(self) -> tuple[tuple[str, ...], str | None]:
        """Return the options that say which files a commit takes, and what it reads of them."""
        if self._by_stage:
            return (), None
        if not any(self.work.is_left_out(path) for path in self.state.changed):
            return ("--all",), None
        files = [*self.all, *self._gone]
        told = "\0".join(literal(path) for path in files)
        return ("--only", "--pathspec-from-file=-", "--pathspec-file-nul"), told

    @cached_property
    def _by_stage(self) -> bool:
        """Whether somebody staged a part of the changes, and a part not."""
        staged = [path for path in self.state.staged if not self.work.is_left_out(path)]
        return bool(staged and self._unstaged)

    @cached_property
    def _unstaged(self) -> list[str]:
        return [
            path
            for path in self.state.unstaged
            if path in self._real and not self.work.is_left_out(path)
        ]

    @property
    def _unstaged_rest(self) -> list[str]:
        return self._unstaged if self._by_stage else []

    @cached_property
    def _real(self) -> set[str]:
        """The changed files whose content differs as git would commit it."""
        if not self.state.changed or self.state.head is None:
            return set(self.state.changed)
        out = self.work.checkout.ask(
            "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty", "HEAD", "--"
        )
        staged = self.work.checkout.ask("diff", "--cached", "--name-only", "-z", "--no-renames")
        return {*out.split("\0"), *staged.split("\0")} - {""}

    @property
    def _gone(self) -> list[str]:
        """The old names of files that were renamed in the index."""
        out = self.work.checkout.ask(
            "diff", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=D"
        )
        return [path for path in out.split("\0") if path and path not in self.all]

    def _inside(self, path: str) -> str:
        """Return a path that was named as one from the root of the tree."""
        if "\0" in path:
            raise InvalidError("A path cannot hold a NUL character.", reason="bad_path")
        place = self.work.folder / path
        # A link is added as a link, wherever it leads.
        real = place.parent.resolve() / place.name if place.is_symlink() else place.resolve()
        try:
            return real.relative_to(self.work.checkout.root.resolve()).as_posix()
        except ValueError:
            raise InvalidError(f"{path} is outside the repository.", reason="bad_path") from None


def literal(path: str) -> str:
    """Return a path from the root of the tree as git takes it word for word."""
    return f":(top,literal){path}"


def _is_below(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")
