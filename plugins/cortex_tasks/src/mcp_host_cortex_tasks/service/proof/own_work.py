"""A branch's own commits: those that are neither another's nor a copy, and change something."""

from dataclasses import dataclass
from functools import cached_property

from ...storage.git import Checkout
from ...storage.history import Commit, change_ids, commits
from .arrivals import REBASED, Arrivals, between


@dataclass
class OwnWork:
    """The work of one branch, and the commits of main that it can be in.

    `began` is where the branch began, as `start` noted it; the other fields are those of `Proof`.
    """

    git: Checkout
    tip: str
    main: str
    began: str | None
    arrivals: Arrivals

    @cached_property
    def commits(self) -> list[Commit]:
        """The branch's own commits that change something, oldest first."""
        self.changes.update(change_ids(self.git, (one.id for one in self.candidates)))
        changing = [one for one in self.candidates if one.id in self.changes]
        return [one for one in changing if not self._is_copy(one)]

    @cached_property
    def base(self) -> str | None:
        """The commit whose descendants can be the branch's own: the last rebase moved it."""
        onto = [found[1] for *_, why in self.arrivals.moves if (found := REBASED.search(why))]
        first = self.arrivals.moves[0][1] if self.arrivals.moves else None
        for one in (*onto[::-1], self.began, first):
            if one and self.git.commit_of(one):
                return self._fork(one)
        return self._fork(f"{self.merge}^1" if self.merge else self.main)

    def _fork(self, one: str) -> str | None:
        return self.git.run("merge-base", one, self.tip).out.strip() or None

    @cached_property
    def candidates(self) -> list[Commit]:
        """The commits since the base that are not another's."""
        since = (f"^{self.base}",) if self.base else ()
        return [one for one in commits(self.git, self.tip, *since) if self._is_own(one.id)]

    def _is_own(self, commit: str) -> bool:
        if commit in self.arrivals.made:
            return True
        if commit in self.arrivals.brought:
            return False
        return (
            commit not in self._in_main
            or commit in self.arrivals.before_main
            or commit in self._merged_aside
        )

    @cached_property
    def changes(self) -> dict[str, str]:
        """The change of each own commit, by its id."""
        return {}

    @cached_property
    def _in_main(self) -> set[str]:
        """Those commits since the base that are in main now."""
        since = (f"^{self.base}",) if self.base else ()
        rows = self.git.ask("rev-list", self.tip, *since, f"^{self.main}").split()
        return set(self.git.ask("rev-list", self.tip, *since).split()) - set(rows)

    @cached_property
    def _merged_aside(self) -> set[str]:
        """The commits that a merge brought into main together with the tip, from beside it."""
        merge = self.merge
        return set(between(self.git, f"{merge}^1", self.tip)) if merge else set()

    @cached_property
    def merge(self) -> str | None:
        """The merge on main's own line that brought the tip from beside it."""
        line = self.git.ask("rev-list", "--first-parent", f"{self.tip}..{self.main}").split()
        after = self.git.ask("rev-list", "--ancestry-path", f"{self.tip}..{self.main}").split()
        first = next((one for one in reversed(line) if one in set(after)), None)
        if first is None or self.git.commit_of(f"{first}^2") is None:
            return None
        return None if self.git.is_ancestor(self.tip, f"{first}^1") else first

    def _is_copy(self, one: Commit) -> bool:
        """Tell whether a commit repeats a change that main had before."""
        same = [other for other in self.mains if self.main_ids[other.id] == self.changes[one.id]]
        picked = any(
            new == one.id and why.startswith("cherry-pick: ")
            for _, new, _, why in self.arrivals.moves
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

    @cached_property
    def mains(self) -> list[Commit]:
        """The commits of main since the base that touch what the branch touches, oldest first."""
        base = self.base
        since = (f"^{base}",) if base else ()
        paths = self._touched
        found = commits(self.git, self.main, *since, paths=paths) if paths else []
        self.main_ids.update(change_ids(self.git, (one.id for one in found)))
        return [one for one in found if one.id in self.main_ids]

    @cached_property
    def main_ids(self) -> dict[str, str]:
        """The change of each of `mains`, by its id."""
        return {}

    @cached_property
    def _touched(self) -> list[str]:
        since = (f"^{self.base}",) if self.base else ()
        out = self.git.ask(
            "log", "-z", "--format=", "--name-only", "--no-renames", "--no-show-signature",
            self.tip, *since, "--",
        )  # fmt: skip
        return sorted({path.strip("\n") for path in out.split("\0")} - {""})

    @cached_property
    def anchors(self) -> list[str]:
        """The commits that the work stands on: the newest of main in the branch, and the base."""
        found = [self._fork(self.main), self.base]
        return [one for one in dict.fromkeys(found) if one and one != self.tip]
