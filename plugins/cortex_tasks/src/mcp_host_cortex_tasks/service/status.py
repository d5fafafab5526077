"""Where one stands: the branch, its task, what is not submitted and what is pending."""

from mcp_host_cortex_tasks.service.work import Work


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
    last = work.journal.last()
    if last is not None and not last.finished:
        result["pending"] = {
            "command": last.command,
            "task_id": last.task_id,
            "steps": last.pending,
        }
    return result
