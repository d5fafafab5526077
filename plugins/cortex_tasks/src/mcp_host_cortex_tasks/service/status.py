"""Where one stands: the branch, its task, what is not submitted and what is pending."""

from contextlib import suppress

from ..errors import RefusedError
from .work import Work


def status(work: Work) -> dict[str, object]:
    """Return the state of the checkout. It asks git alone, never a server."""
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
    last = work.journal.last()
    if last is not None and not last.finished:
        result["pending"] = {
            "command": last.command,
            "task_id": last.task_id,
            "steps": last.pending,
        }
    return result
