"""How a branch got each of its commits: what git's reflogs tell, and what was noted."""

import re
from dataclasses import dataclass
from functools import cached_property

from ...storage.git import Checkout
from ...storage.history import Move, moves_of

_MADE = re.compile(r"commit(?: \((?:initial|amend|merge)\))?: |cherry-pick: |revert: |am: ")
REBASED = re.compile(r"\(finish\): .* onto ([0-9a-f]{40,64})$")
_BROUGHT = re.compile(
    r": Fast-forward$|^reset: |^(?:merge|pull) .*: Merge made|^commit \(merge\): "
)
_PLAIN_PULL = re.compile(r"pull(?: -\S+)*: ")


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the branch and main stood at one moment."""

    tip: str
    main: str


@dataclass
class Arrivals:
    """The moves of one branch, beside those of main; the fields are those of `Proof`."""

    git: Checkout
    branch: str
    main_ref: str
    main: str
    seen: tuple[Seen, ...] = ()
    just_seen: tuple[Seen, ...] = ()

    @cached_property
    def moves(self) -> list[tuple[str | None, str, int, str]]:
        """Where the branch was: from, to, when, why. Empty where git remembers nothing of it."""
        moves = moves_of(self.git, f"refs/heads/{self.branch}")
        before: list[str | None] = [None, *(move.commit for move in moves)]
        return [(old, one.commit, one.at, one.why) for old, one in zip(before, moves, strict=False)]

    @cached_property
    def made(self) -> set[str]:
        """The commits that were made on this branch in this repository."""
        made = {
            new
            for _, new, at, why in self.moves
            if _MADE.match(why)
            and not (why.startswith("cherry-pick: ") and self._was_in_main(new, at))
        }
        for _, new, _, why in self.moves:
            if found := REBASED.search(why):
                made.update(between(self.git, found[1], new))
        return made

    def _was_in_main(self, commit: str, at: int) -> bool:
        """Tell whether main had a commit at a moment, as far as its reflog tells."""
        before = [
            move.commit
            for move in self._main_moves
            if move.at < at or (move.at == at and move.why != "update by push")
        ]
        return bool(before) and self.git.is_ancestor(commit, before[-1])

    @cached_property
    def _main_moves(self) -> list[Move]:
        return moves_of(self.git, self.main_ref)

    @cached_property
    def brought(self) -> set[str]:
        """The commits that came from elsewhere: not from this branch on another machine."""
        brought: set[str] = set()
        for old, new, _, why in self.moves:
            if old is None or not _BROUGHT.search(why) or self._from_itself(why):
                continue
            if self.git.commit_of(f"{new}^2") and self.git.commit_of(f"{new}^1") == old:
                brought.update(between(self.git, old, f"{new}^2"))
            else:
                brought.update(between(self.git, old, new))
        return brought - self.made

    def _from_itself(self, why: str) -> bool:
        """Tell whether what was merged is this branch as another machine pushed it."""
        names = "|".join(re.escape(one) for one in self.git.remote_names)
        name = rf"(?:^|[\s'])(?:refs/remotes/)?(?:(?:{names})/)?"
        if re.search(rf"{name}{re.escape(self.branch)}(?=[:\s']|$)", why):
            return True
        upstream = self.git.config(f"branch.{self.branch}.merge")
        return bool(_PLAIN_PULL.match(why)) and upstream == f"refs/heads/{self.branch}"

    @cached_property
    def before_main(self) -> set[str]:
        """The commits that the branch had at a moment when main had them not."""
        found: set[str] = set()
        for one in {*self.seen, *self._remembered()}:
            if self.git.commit_of(one.tip) and self.git.commit_of(one.main):
                found.update(between(self.git, one.main, one.tip))
        return found

    def _remembered(self) -> list[Seen]:
        """Where branch and main stood whenever the branch moved, as far as the reflogs tell."""
        if not self.moves:
            return []  # git remembers nothing: what was seen here a moment ago tells no order
        mains = self._main_moves
        found = [*self.just_seen]
        for _, new, at, _ in self.moves:
            known = [move.commit for move in mains if move.at <= at]
            if known or not mains:  # without a reflog of its own main never moved
                found.append(Seen(new, known[-1] if known else self.main))
        return found


def between(git: Checkout, old: str, new: str) -> list[str]:
    """Return the commits that a later one has, and an earlier one has not."""
    return git.run("rev-list", f"{old}..{new}").out.split()
