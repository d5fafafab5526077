"""A pull request, as every forge tells of one, and what others made of it."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A request to merge a branch into `base`; `head` is the last commit it holds.

    `landed` is the commit of `base` that brought it, `refs` where the forge's git has its head.

    Invariants: it never changes. One that is `merged` is not `open`.
    """

    number: int
    url: str
    head: str
    base: str
    open: bool
    merged: bool
    landed: str | None = None
    refs: tuple[str, ...] = ()
    title: str = ""
    body: str = ""
    draft: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody wrote at a request. `right` is what they may do there; `path` is the file."""

    author: str
    right: str
    body: str
    path: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return it as plain data, marked as written by somebody else."""
        told = {key: value for key, value in asdict(self).items() if value is not None}
        return {"written_by_others": True, **told}


@dataclass(frozen=True, slots=True)
class Feedback:
    """What machines and people made of a request.

    `checks` has each check's name and state (`success`, `failure` or `pending`), `reviews` the last
    word of each reviewer, `comments` those that are not resolved, `hidden` how many more there are
    by people who may not write. `mergeable` is None while the forge does not know.
    """

    checks: tuple[tuple[str, str], ...] = ()
    reviews: tuple[tuple[str, str], ...] = ()
    comments: tuple[Remark, ...] = ()
    hidden: int = 0
    mergeable: bool | None = None

    @property
    def ci(self) -> str | None:
        """Every check in one word, None without checks."""
        states = {state for _, state in self.checks}
        return next((one for one in ("failure", "pending", "success") if one in states), None)

    def as_data(self) -> dict[str, object]:
        """Return it as plain data."""
        hidden = {"hidden_comments": self.hidden} if self.hidden else {}
        return {
            "ci": self.ci,
            "checks": [{"name": name, "state": state} for name, state in self.checks],
            "reviews": [{"author": author, "state": state} for author, state in self.reviews],
            "unresolved": [one.as_data() for one in self.comments],
            "mergeable": self.mergeable,
            **hidden,
        }
