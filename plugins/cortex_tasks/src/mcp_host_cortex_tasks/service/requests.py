"""The pull request of a task: its words, kept in step with the task, and where it goes."""

import hashlib
from dataclasses import dataclass

from ..model.task import Task
from ..storage.forges import NoForge, PullRequest
from .plan import Plan, Refs
from .work import OWN_ON, OWN_REQUEST, Work


@dataclass(frozen=True, slots=True)
class Wording:
    """What a request says; `draft` None leaves that as it is."""

    title: str
    body: str
    draft: bool | None = None

    @property
    def mark(self) -> str:
        """What tells these words from others."""
        return hashlib.sha256(f"{self.title}\n\n{self.body}".encode()).hexdigest()[:16]


def wording(
    work: Work,
    task: Task | None,
    number: int,
    *,
    title: str | None,
    body: str | None,
    draft: bool | None,
) -> Wording:
    """Return what a task's request says: as asked, else as the task has it, else its commit."""
    subject = task.title if task else work.checkout.ask("log", "-1", "--format=%s")
    about = (task.description if task else None) or ""
    return Wording(
        " ".join((title or subject).split()),
        f"{about if body is None else body}\n\nTask {number}".strip(),
        draft,
    )


def changes_of(
    work: Work, branch: str, request: PullRequest, now: Wording, *, asked: bool
) -> dict[str, object]:
    """Return what to change of a request that is there.

    Its words change where that was asked for, or where the task's did since we wrote them; what
    somebody wrote on the forge's own page stays.
    """
    fields: dict[str, object] = {}
    noted = work.checkout.config(f"branch.{branch}.{OWN_REQUEST}")
    ours = noted == Wording(request.title, request.body).mark
    if now.mark != Wording(request.title, request.body).mark and (asked or ours):
        fields = {"title": now.title, "body": now.body}
    if now.draft is not None and now.draft != request.draft:
        fields["draft"] = now.draft
    return fields


def note_wording(work: Work, branch: str, words: Wording) -> None:
    """Let git remember what we wrote into a branch's request."""
    work.checkout.ask("config", f"branch.{branch}.{OWN_REQUEST}", words.mark)


@dataclass(frozen=True, slots=True)
class Lower:
    """The branch that a stacked one stands on, while its work is not in main."""

    branch: str
    tip: str
    pushed: bool


def lower_of(work: Work, branch: str, main: str) -> Lower | None:
    """Return the branch that this one stands on, None for one that stands on main.

    A lower branch that is merged, or is neither here nor on the remote, is none any more.
    """
    git = work.checkout
    name = git.config(f"branch.{branch}.{OWN_ON}")
    if name is None:
        return None
    there = work.where(name)
    here = git.commit_of(f"refs/heads/{name}")
    if here is None and there is not None and git.commit_of(there) is None:
        remote = git.push_to(name)
        if remote is not None:
            remote.fetch(name)
    tip = here or (there if there and git.commit_of(there) else None)
    if tip is None or work.proof(name, tip, main).evidence.proven:
        return None
    return Lower(name, tip, there is not None)


def uppers_of(work: Work, branch: str) -> list[str]:
    """Return the branches here that stand on this one."""
    stacked = work.checkout.config_of_branches(OWN_ON)
    here = work.checkout.branches()
    return sorted(name for name, lower in stacked.items() if lower == branch and name in here)


def plan_retarget(work: Work, plan: Plan, branch: str, main: str) -> None:
    """Plan to let the open request of a branch go to main, where a forge can be asked."""
    forge = work.places.forge(branch, note=not work.dry_run)
    if isinstance(forge, NoForge):
        return

    def retarget() -> Refs:
        with forge:
            request = forge.find_open(branch)
            if request is None or request.base == main:
                return {}
            forge.update(request, base=main)
            return {"url": request.url}

    plan.add("retarget", f"let the request of {branch} go to {main}", retarget, before={}, after={})
