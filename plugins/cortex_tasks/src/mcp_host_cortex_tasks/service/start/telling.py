"""Who hears that a task is begun: the remote, which keeps the claim, and the backend."""

from datetime import UTC, datetime

from ...errors import RefusedError
from ...storage.claims import CLAIMS
from ...storage.tasks import CHANGED_MEANWHILE
from ..plan import Refs
from ..work import OWN_ON, OWN_START
from .starting import STARTED, Starting


def plan_claim(it: Starting) -> None:
    """Plan to claim the task on the remote, where it is reached and keeps such refs."""
    claims, number = it.work.claims, it.task.id
    known = claims.known(number)
    if known is not None and known.created != it.task.created_at:
        return  # a task of another backend has the number
    if known is not None:
        it.claim = "remote"
        if known.clone == claims.clone:
            it.claimed = True
            return
        if not it.steal:
            it.already = True
            it.plan.warnings.append(
                f"{known.owner} began this task at {iso(known.began)}; to take it over:"
                f" ctx tasks start {number} --steal"
            )
            return
    if not it.reached:
        return
    over = known.id if known is not None else ""

    def claim() -> Refs:
        base = it.git.config(f"branch.{it.name}.{OWN_START}")
        on = it.git.config(f"branch.{it.name}.{OWN_ON}")
        mine = claims.mine(number, it.task.created_at, it.name, base, on)
        how = claims.put(mine, over)
        it.claimed = how == "made"
        it.already = it.already or how == "lost"
        it.claim = it.claim if how == "refused" else "remote"
        return {"claim": it.git.object_of(f"{CLAIMS}{number}") if it.claimed else None}

    it.plan.add("claim", f"claim task {number} on {it.git.base}", claim, before={}, after={})


def plan_server(it: Starting) -> None:
    """Plan to tell the backend that the task is in progress, and on which branch."""
    task = it.task
    fields: dict[str, object] = {}
    if task.status not in STARTED:
        fields["status"] = "IN_PROGRESS"
    if task.branch_name != it.name:
        fields["branch_name"] = it.name
    if not fields:
        it.already = True  # somebody started it on this branch, if not here
        return

    def tell() -> Refs:
        try:
            it.work.tasks.change(task.id, fields, seen=task)
        except RefusedError as error:
            if error.reason != CHANGED_MEANWHILE:
                raise
            _accept_the_winner(it)
        return {}

    it.plan.add(
        "status",
        f"tell the backend: task {task.id} is IN_PROGRESS on {it.name}"
        if "status" in fields
        else f"tell the backend: task {task.id} is on {it.name}",
        tell,
        before={"status": task.status, "branch_name": task.branch_name},
        after={"status": str(fields.get("status", task.status)), "branch_name": it.name},
    )


def _accept_the_winner(it: Starting) -> None:
    """Somebody else changed the task first: fine when they started it as we would have."""
    now = it.work.tasks.get(it.task.id)
    if now.branch_name == it.name and now.status in STARTED:
        it.already = True
        return
    if now.branch_name in (None, it.name) and now.status not in (*STARTED, "DONE"):
        fields = {"status": "IN_PROGRESS", "branch_name": it.name}
        it.work.tasks.change(now.id, fields, seen=now)
        return
    raise RefusedError(
        f"Task {now.id} was changed by somebody else: it is {now.status} on {now.branch_name}.",
        reason=CHANGED_MEANWHILE,
        suggestions=[f"ctx tasks start {now.id}"],
    )


def iso(moment: float) -> str:
    """Return a moment as ISO 8601 has it."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
