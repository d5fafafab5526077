"""Whether a branch's own work is in the main branch. The one place that decides it.

Own commits are those between where the branch began and its tip that were not on main when the
branch got them. git's reflog tells how the branch got a commit: made here, or brought by a merge, a
fast-forward or a reset from elsewhere. Where it does not tell, what was noted decides: at each of
our commands, where the branch stood and where main did. A commit that copies one of main is none of
its own, and neither is one that changes nothing.

They are merged where the tip is an ancestor of main, or every one of them is in main by its change
(a rebase), or the change of all together is that of one commit of main (a squash), or the forge
says so of a head that holds the tip. A change that main took back again is not merged.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..storage.git import Checkout
from ..storage.history import (
    NO_CHANGE,
    Commit,
    Move,
    change_id,
    change_ids,
    commits,
    moves_of,
)

_MADE = re.compile(r"commit(?: \((?:initial|amend|merge)\))?: |cherry-pick: |revert: |am: ")
_REBASED = re.compile(r"\(finish\): .* onto ([0-9a-f]{40,64})$")
_BROUGHT = re.compile(
    r": Fast-forward$|^reset: |^(?:merge|pull) .*: Merge made|^commit \(merge\): "
)
_PLAIN_PULL = re.compile(r"pull(?: -\S+)*: ")
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True)
class Seen:
    """Where the branch and main stood at one moment."""

    tip: str
    main: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What git alone shows. `kind` is how the work came into main, None where it did not.

    `landed` is the commit of main that brought it and `reverted_by` the one that took it back;
    `nothing` says that there is no work to be merged, `hollow` that what there is changes nothing.
    """

    kind: str | None
    own: tuple[str, ...]
    landed: str | None = None
    reverted_by: str | None = None
    nothing: bool = False
    hollow: bool = False

    @property
    def proven(self) -> bool:
        """Whether it shows that the work is in main."""
        return self.kind is not None and self.reverted_by is None

    def as_data(self) -> dict[str, object]:
        """Return it as plain data for `status`."""
        data = {"merged": self.kind, "landed": self.landed, "reverted_by": self.reverted_by}
        told = {key: value for key, value in data.items() if value is not None}
        return {"own_commits": len(self.own), **told}


@dataclass
class Proof:
    """One branch beside one main branch.

    `base` is where the branch began, as `start` noted it (for a stacked task the tip of the lower
    one); `main_ref` the ref that tells where main is, `main` the commit; `seen` what was noted,
    and `just_seen` what was seen here a moment ago, before main was fetched.
    """

    git: Checkout
    branch: str
    tip: str
    main_ref: str
    main: str
    base: str | None = None
    seen: tuple[Seen, ...] = ()
    just_seen: tuple[Seen, ...] = ()

    @cached_property
    def evidence(self) -> Evidence:
        """What git alone shows."""
        own = self._own
        ids = tuple(one.id for one in own)
        if not own or self._cancels_out:
            hollow = bool(own) or any(one.id in self._made for one in self._candidates)
            return Evidence(None, ids, nothing=True, hollow=hollow)
        kind, landed = self._landed()
        reverted_by = None if kind is None else self.reverted(landed)
        return Evidence(kind, ids, landed[-1] if landed else None, reverted_by)

    # where it began

    @cached_property
    def _moves(self) -> list[tuple[str | None, str, int, str]]:
        """Where the branch was: from, to, when, why. Empty where git remembers nothing of it."""
        moves = moves_of(self.git, f"refs/heads/{self.branch}")
        before: list[str | None] = [None, *(move.commit for move in moves)]
        return [(old, one.commit, one.at, one.why) for old, one in zip(before, moves, strict=False)]

    @cached_property
    def _base(self) -> str | None:
        """The commit whose descendants can be the branch's own: the last rebase moved it."""
        onto = [found[1] for *_, why in self._moves if (found := _REBASED.search(why))]
        first = self._moves[0][1] if self._moves else None
        for one in (*onto[::-1], self.base, first):
            if one and self.git.commit_of(one):
                return self._fork(one)
        return self._fork(f"{self._merge}^1" if self._merge else self.main)

    def _fork(self, one: str) -> str | None:
        return self.git.run("merge-base", one, self.tip).out.strip() or None

    # what is its own

    @cached_property
    def _own(self) -> list[Commit]:
        """The branch's own commits that change something, oldest first."""
        self._changes.update(change_ids(self.git, (one.id for one in self._candidates)))
        changing = [one for one in self._candidates if one.id in self._changes]
        return [one for one in changing if not self._is_copy(one)]

    @cached_property
    def _candidates(self) -> list[Commit]:
        since = (f"^{self._base}",) if self._base else ()
        return [one for one in commits(self.git, self.tip, *since) if self._is_own(one.id)]

    @cached_property
    def _changes(self) -> dict[str, str]:
        return {}

    def _is_own(self, commit: str) -> bool:
        if commit in self._made:
            return True
        if commit in self._brought:
            return False
        return (
            commit not in self._in_main
            or commit in self._before_main
            or commit in self._merged_aside
        )

    @cached_property
    def _made(self) -> set[str]:
        """The commits that were made on this branch in this repository."""
        made = {
            new
            for _, new, at, why in self._moves
            if _MADE.match(why)
            and not (why.startswith("cherry-pick: ") and self._was_in_main(new, at))
        }
        for _, new, _, why in self._moves:
            if found := _REBASED.search(why):
                made.update(self._between(found[1], new))
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
    def _brought(self) -> set[str]:
        """The commits that came from elsewhere: not from this branch on another machine."""
        brought: set[str] = set()
        for old, new, _, why in self._moves:
            if old is None or not _BROUGHT.search(why) or self._from_itself(why):
                continue
            if self.git.commit_of(f"{new}^2") and self.git.commit_of(f"{new}^1") == old:
                brought.update(self._between(old, f"{new}^2"))
            else:
                brought.update(self._between(old, new))
        return brought - self._made

    def _from_itself(self, why: str) -> bool:
        """Tell whether what was merged is this branch as another machine pushed it."""
        names = "|".join(re.escape(one) for one in self.git.remote_names)
        name = rf"(?:^|[\s'])(?:refs/remotes/)?(?:(?:{names})/)?"
        if re.search(rf"{name}{re.escape(self.branch)}(?=[:\s']|$)", why):
            return True
        upstream = self.git.config(f"branch.{self.branch}.merge")
        return bool(_PLAIN_PULL.match(why)) and upstream == f"refs/heads/{self.branch}"

    @cached_property
    def _before_main(self) -> set[str]:
        """The commits that the branch had at a moment when main had them not."""
        found: set[str] = set()
        for one in {*self.seen, *self._remembered()}:
            if self.git.commit_of(one.tip) and self.git.commit_of(one.main):
                found.update(self._between(one.main, one.tip))
        return found

    def _remembered(self) -> list[Seen]:
        """Where branch and main stood whenever the branch moved, as far as the reflogs tell."""
        if not self._moves:
            return []  # git remembers nothing: what was seen here a moment ago tells no order
        mains = self._main_moves
        found = [*self.just_seen]
        for _, new, at, _ in self._moves:
            known = [move.commit for move in mains if move.at <= at]
            if known or not mains:  # without a reflog of its own main never moved
                found.append(Seen(new, known[-1] if known else self.main))
        return found

    @cached_property
    def _in_main(self) -> set[str]:
        """Those commits since the base that are in main now."""
        since = (f"^{self._base}",) if self._base else ()
        rows = self.git.ask("rev-list", self.tip, *since, f"^{self.main}").split()
        return set(self.git.ask("rev-list", self.tip, *since).split()) - set(rows)

    @cached_property
    def _merged_aside(self) -> set[str]:
        """The commits that a merge brought into main together with the tip, from beside it."""
        merge = self._merge
        return set(self._between(f"{merge}^1", self.tip)) if merge else set()

    @cached_property
    def _merge(self) -> str | None:
        """The merge on main's own line that brought the tip from beside it."""
        line = self.git.ask("rev-list", "--first-parent", f"{self.tip}..{self.main}").split()
        after = self.git.ask("rev-list", "--ancestry-path", f"{self.tip}..{self.main}").split()
        first = next((one for one in reversed(line) if one in set(after)), None)
        if first is None or self.git.commit_of(f"{first}^2") is None:
            return None
        return None if self.git.is_ancestor(self.tip, f"{first}^1") else first

    def _is_copy(self, one: Commit) -> bool:
        """Tell whether a commit repeats a change that main had before."""
        same = [other for other in self._mains if self._main_ids[other.id] == self._changes[one.id]]
        picked = any(
            new == one.id and why.startswith("cherry-pick: ") for _, new, _, why in self._moves
        )
        for other in same:
            if other.id == one.id:
                continue
            if other.written == one.written:  # one of the two was made from the other
                if other.committed < one.committed or (other.committed == one.committed and picked):
                    return True
            elif other.committed < one.written:
                return True
        return False

    # whether it is in main

    @cached_property
    def _mains(self) -> list[Commit]:
        """The commits of main since the base that touch what the branch touches, oldest first."""
        base = self._base
        since = (f"^{base}",) if base else ()
        paths = self._touched
        found = commits(self.git, self.main, *since, paths=paths) if paths else []
        self._main_ids.update(change_ids(self.git, (one.id for one in found)))
        return [one for one in found if one.id in self._main_ids]

    @cached_property
    def _main_ids(self) -> dict[str, str]:
        return {}

    @cached_property
    def _touched(self) -> list[str]:
        since = (f"^{self._base}",) if self._base else ()
        out = self.git.ask(
            "log", "-z", "--format=", "--name-only", "--no-renames", "--no-show-signature",
            self.tip, *since, "--",
        )  # fmt: skip
        return sorted({path.strip("\n") for path in out.split("\0")} - {""})

    @cached_property
    def _anchors(self) -> list[str]:
        """The commits that the work stands on: the newest of main in the branch, and the base."""
        found = [self._fork(self.main), self._base]
        return [one for one in dict.fromkeys(found) if one and one != self.tip]

    @cached_property
    def _cancels_out(self) -> bool:
        """Tell whether the own commits together change nothing."""
        left = [self._changes[one.id] for one in self._own]
        back = change_ids(self.git, (one.id for one in self._own), reverse=True)
        for one in self._own:
            if self._changes[one.id] in left and back.get(one.id) in left:
                left.remove(self._changes[one.id])
                left.remove(back[one.id])
        if not left:
            return True
        own = {one.id for one in self._own}
        for anchor in self._anchors:
            alone = set(self._between(anchor, self.tip)) == own
            if alone and change_id(self.git, anchor, self.tip) == NO_CHANGE:
                return True
        return False

    def _landed(self) -> tuple[str | None, list[str]]:
        """Return how the work came into main, and the commits that brought it."""
        if self.git.is_ancestor(self.tip, self.main):
            last = self._own[-1].id
            return "ancestor", [last, self._merge] if self._merge else [last]
        by_change = {self._main_ids[one.id]: one for one in self._mains}
        if all(self._changes[one.id] in by_change for one in self._own):
            return "patches", [by_change[self._changes[one.id]].id for one in self._own]
        begun = min(one.written for one in self._own)
        for anchor in self._anchors:
            whole = by_change.get(change_id(self.git, anchor, self.tip))
            if whole is not None and whole.committed >= begun:
                return "squash", [whole.id]
        return None, []

    def reverted(self, landed: Iterable[str]) -> str | None:
        """Return the commit of main that took the work back, and was not taken back itself.

        `landed` are the commits of main that brought it.
        """
        ours = {*landed, *(one.id for one in self._own)}
        forward = {self._changes[one.id] for one in self._own}
        backward = set(change_ids(self.git, (one.id for one in self._own), reverse=True).values())
        merges = [one for one in landed if self.git.commit_of(f"{one}^2")]
        for before, after in [(f"{one}^1", one) for one in merges] + [
            (anchor, self.tip) for anchor in self._anchors
        ]:
            forward.add(change_id(self.git, before, after))
            backward.add(change_id(self.git, after, before))
        reverts: dict[str, str] = {}
        for one in self._mains:
            told = set(_REVERTS.findall(one.message))
            back = self._main_ids[one.id]
            undoes = [revert for revert in reverts if any(revert.startswith(sha) for sha in told)]
            if undoes or (reverts and back in forward):
                for revert in undoes or list(reverts):
                    reverts.pop(revert)
            elif one.id not in ours and (
                back in backward or any(own.startswith(sha) for own in ours for sha in told)
            ):
                reverts[one.id] = back
        return next(iter(reverts), None)

    # asking git

    def _between(self, old: str, new: str) -> list[str]:
        return self.git.run("rev-list", f"{old}..{new}").out.split()
