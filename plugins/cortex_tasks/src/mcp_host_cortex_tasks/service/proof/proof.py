"""Whether the own work of a branch is in the main branch, by what git alone shows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ...storage.git import Checkout
from ...storage.history import NO_CHANGE, change_id, change_ids
from .arrivals import Arrivals, Seen, between
from .own_work import OwnWork

_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


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
        own = self.own.commits
        ids = tuple(one.id for one in own)
        if not own or self._cancels_out:
            hollow = bool(own) or any(
                one.id in self.own.arrivals.made for one in self.own.candidates
            )
            return Evidence(None, ids, nothing=True, hollow=hollow)
        kind, landed = self._landed()
        reverted_by = None if kind is None else self.reverted(landed)
        return Evidence(kind, ids, landed[-1] if landed else None, reverted_by)

    @cached_property
    def own(self) -> OwnWork:
        """What is to be proven."""
        arrivals = Arrivals(
            self.git, self.branch, self.main_ref, self.main, self.seen, self.just_seen
        )
        return OwnWork(self.git, self.tip, self.main, self.base, arrivals)

    @cached_property
    def _cancels_out(self) -> bool:
        """Tell whether the own commits together change nothing."""
        left = [self.own.changes[one.id] for one in self.own.commits]
        back = change_ids(self.git, (one.id for one in self.own.commits), reverse=True)
        for one in self.own.commits:
            if self.own.changes[one.id] in left and back.get(one.id) in left:
                left.remove(self.own.changes[one.id])
                left.remove(back[one.id])
        if not left:
            return True
        own = {one.id for one in self.own.commits}
        for anchor in self.own.anchors:
            alone = set(between(self.git, anchor, self.tip)) == own
            if alone and change_id(self.git, anchor, self.tip) == NO_CHANGE:
                return True
        return False

    def _landed(self) -> tuple[str | None, list[str]]:
        """Return how the work came into main, and the commits that brought it."""
        if self.git.is_ancestor(self.tip, self.main):
            last = self.own.commits[-1].id
            return "ancestor", [last, self.own.merge] if self.own.merge else [last]
        by_change = {self.own.main_ids[one.id]: one for one in self.own.mains}
        if all(self.own.changes[one.id] in by_change for one in self.own.commits):
            return "patches", [by_change[self.own.changes[one.id]].id for one in self.own.commits]
        begun = min(one.written for one in self.own.commits)
        for anchor in self.own.anchors:
            whole = by_change.get(change_id(self.git, anchor, self.tip))
            if whole is not None and whole.committed >= begun:
                return "squash", [whole.id]
        return None, []

    def reverted(self, landed: Iterable[str]) -> str | None:
        """Return the commit of main that took the work back, and was not taken back itself.

        `landed` are the commits of main that brought it.
        """
        ours = {*landed, *(one.id for one in self.own.commits)}
        forward = {self.own.changes[one.id] for one in self.own.commits}
        backward = set(
            change_ids(self.git, (one.id for one in self.own.commits), reverse=True).values()
        )
        merges = [one for one in landed if self.git.commit_of(f"{one}^2")]
        for before, after in [(f"{one}^1", one) for one in merges] + [
            (anchor, self.tip) for anchor in self.own.anchors
        ]:
            forward.add(change_id(self.git, before, after))
            backward.add(change_id(self.git, after, before))
        reverts: dict[str, str] = {}
        for one in self.own.mains:
            told = set(_REVERTS.findall(one.message))
            back = self.own.main_ids[one.id]
            undoes = [revert for revert in reverts if any(revert.startswith(sha) for sha in told)]
            if undoes or (reverts and back in forward):
                for revert in undoes or list(reverts):
                    reverts.pop(revert)
            elif one.id not in ours and (
                back in backward or any(own.startswith(sha) for own in ours for sha in told)
            ):
                reverts[one.id] = back
        return next(iter(reverts), None)
