"""What every forge can do about pull requests."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import httpx2

from ...errors import RefusedError
from .request import Feedback, PullRequest, Remark
from .speaking import Fields, Speaker

ALREADY_THERE = "pull_request_exists"
SHOWN_COMMENTS = 50
SHOWN_TEXT = 2000


class Forge(Speaker, ABC):
    """The pull requests of one repository on one forge."""

    @abstractmethod
    def of_branch(self, branch: str, base: str | None = None) -> list[PullRequest]:
        """Return the requests from a branch, in any state; `base` may make it faster."""

    @abstractmethod
    def _create(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        """Open one; raise `RefusedError` with `pull_request_exists` where it is there already."""

    @abstractmethod
    def close(self, number: int) -> None:
        """Close a pull request without merging it."""

    @abstractmethod
    def update(
        self,
        request: PullRequest,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        draft: bool | None = None,
    ) -> None:
        """Change what is given of a request."""

    @abstractmethod
    def parent(self) -> str | None:
        """Return the path of the repository that this one is a fork of, None for no fork."""

    @abstractmethod
    def _feedback(self, request: PullRequest, *, everybody: bool) -> Feedback: ...

    def feedback(self, request: PullRequest, *, everybody: bool = False) -> Feedback:
        """Return what others made of a request.

        Afterwards `tags` has the ETags of what was read, which `same` takes. On public repositories
        only comments of people who may write are shown, unless `everybody`.
        """
        self.tags.clear()
        try:
            return self._feedback(request, everybody=everybody)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise self._nonsense("the reviews of a pull request were expected") from None

    def find_open(self, branch: str, base: str | None = None) -> PullRequest | None:
        """Return the open pull request of a branch."""
        return next((request for request in self.of_branch(branch, base) if request.open), None)

    def open(
        self, branch: str, base: str, title: str, body: str, *, draft: bool = False
    ) -> tuple[PullRequest, bool]:
        """Return the open pull request of a branch, and whether it was made just now."""
        if found := self.find_open(branch, base):
            return found, False
        try:
            return self._create(branch, base, title, body, draft=draft), True
        except RefusedError as error:
            found = self.find_open(branch) if error.reason == ALREADY_THERE else None
            if found is None:
                raise
            return found, False

    def _opened(self, place: str, fields: Mapping[str, object]) -> PullRequest:
        """Open a request at this place; as `_create`."""
        try:
            return self._item(self._call("POST", place, fields))
        except RefusedError as error:
            if self._is_there_already(error):
                raise RefusedError(error.message, reason=ALREADY_THERE) from None
            raise

    def _is_there_already(self, error: RefusedError) -> bool:
        """Whether a request was not opened because the branch has one."""
        return error.details.get("status") == 409

    def _item(self, answer: httpx2.Response) -> PullRequest:
        return self._read(self._data(answer))

    def _read(self, data: Fields) -> PullRequest:
        """Return a pull request from the forge's JSON."""
        try:
            return self._parse(data)
        except (KeyError, TypeError, AttributeError):
            raise self._nonsense("a pull request was expected") from None

    @abstractmethod
    def _parse(self, data: Fields) -> PullRequest: ...


def shown(
    remarks: list[Remark], *, public: bool, everybody: bool
) -> tuple[tuple[Remark, ...], int]:
    """Return the remarks to show, and how many are not: on public repositories those by people who
    may not write, and what is too much."""
    told = [one for one in remarks if everybody or not public or one.right == "write"]
    return tuple(told[:SHOWN_COMMENTS]), len(remarks) - len(told[:SHOWN_COMMENTS])


def marked(request: PullRequest, mark: str, title: str | None, draft: bool | None) -> str | None:
    """Return a request's title with the mark that makes it a draft, None where neither changes."""
    if title is None and draft in (None, request.draft):
        return None
    plain = request.title if title is None else title
    return f"{mark}{plain}" if (request.draft if draft is None else draft) else plain


def given(fields: Mapping[str, str | None]) -> dict[str, str]:
    """Return the fields that are to change: those that have a value."""
    return {key: value for key, value in fields.items() if value is not None}


def state_of(word: object) -> str:
    """Return `success`, `failure` or `pending` for a forge's own word about a check."""
    text = str(word or "").lower()
    if text in ("success", "neutral", "skipped", "passed", "warning", "manual"):
        return "success"
    if text in (
        "failure", "failed", "error", "cancelled", "canceled", "timed_out", "action_required",
        "startup_failure", "stale",
    ):  # fmt: skip
        return "failure"
    return "pending"
