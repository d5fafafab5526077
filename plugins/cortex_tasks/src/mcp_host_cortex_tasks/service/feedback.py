"""What others made of a task's pull request: CI, reviews, comments, whether it can be merged."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ..errors import CortexError
from ..storage.forges import NoForge, PullRequest
from .work import Work


@dataclass(slots=True)
class Told:
    """What the forge tells of a branch's request: None without one or without a forge.

    `same` says that all of it is as it was when it had these `tags`, its ETags.
    """

    request: dict[str, object] | None = None
    tags: dict[str, str] = field(default_factory=dict)
    same: bool = False


def feedback_of(work: Work, branch: str, tags: Mapping[str, str] | None = None) -> Told:
    """Return what the forge tells of the request of a branch. Nothing is changed anywhere."""
    forge = work.places.forge(branch, note=False)
    if isinstance(forge, NoForge):
        return Told()
    with forge:
        if tags and forge.same(tags):
            return Told(tags=dict(tags), same=True)
        main = None
        with suppress(CortexError):
            main = work.main_branch(ask=False)
        requests = forge.of_branch(branch, main)
        if not requests:
            return Told()
        # The open one counts; else the newest.
        request = next((one for one in requests if one.open), None) or max(
            requests, key=lambda one: one.number
        )
        everybody = work.here.text("show_comments") == "all"
        found = forge.feedback(request, everybody=everybody)
        return Told(_shown(request) | found.as_data(), dict(forge.tags))


def feedback_or_why(work: Work, branch: str) -> dict[str, object] | None:
    """Return what the forge tells of a branch's request, or why it could not be asked."""
    try:
        return feedback_of(work, branch).request
    except CortexError as error:
        return {"error": error.message}


def _shown(request: PullRequest) -> dict[str, object]:
    state = "open" if request.open else "merged" if request.merged else "closed"
    return {
        "number": request.number,
        "url": request.url,
        "state": state,
        "base": request.base,
        "draft": request.draft,
    }
