"""Where one stands: the branch, its task, what is not submitted and what is pending."""

from contextlib import suppress

from ..errors import RefusedError
from .feedback import feedback_or_why
from .work import OWN_ON, Work


def status(work: Work, *, online: bool = True) -> dict[str, object]:
    """Return the state of the checkout, and what the forge tells of its request.

    It asks git; a forge only where the user has a token for it, and not unless `online`. It changes
    nothing.
    """
    state = work.checkout.state()
    task_id = work.task_of(state.branch) if state.branch else None
    result: dict[str, object] = {
        "success": True,
        "branch": state.branch,
        "is_task_branch": task_id is not None,
        "task_id": task_id,
        "root": str(work.checkout.root),
        "detached": state.branch is None,
        "in_progress": work.checkout.under_way(),
        "upstream": state.upstream,
        "ahead": state.ahead,
        "behind": state.behind,
        "changed": len(state.changed) + len(state.conflicted),
        "untracked": len(state.untracked),
    }
    if task_id is not None and state.branch is not None and state.head is not None:
        with suppress(RefusedError):  # no main branch is known here: nothing can be told
            main = work.main_branch(ask=False)
            result["evidence"] = work.proof(state.branch, state.head, main).evidence.as_data()
        on = work.checkout.config(f"branch.{state.branch}.{OWN_ON}")
        if on is not None:
            result["on"] = on
        told = feedback_or_why(work, state.branch) if online else None
        if told is not None:
            result["request"] = told
    elsewhere = None if task_id is None else work.claims.known(task_id)
    if elsewhere is not None and elsewhere.clone != work.claims.own_clone:
        result["claimed_by"] = {"owner": elsewhere.owner, "pending": list(elsewhere.pending)}
    last = work.journal.last()
    if last is not None and not last.finished:
        result["pending"] = {
            "command": last.command,
            "task_id": last.task_id,
            "steps": last.pending,
        }
    return result
