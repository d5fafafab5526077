"""What waits for what, as a picture can show it: so many tasks, and the lines between them."""

from collections.abc import Sequence

from ..model import Task, Wanted
from ..storage import Reading
from .views import View

MOST = 300


def graph_of(reading: Reading, wanted: Wanted, around: str | None, limit: int) -> View:
    """Return tasks as `nodes`, and `edges` as pairs: the first is to be done before the second.

    Without a task to look `around`, these are the open tasks that wait and what they wait for,
    those first for which the most wait. `is_cut` says that there are more.
    """
    starts = [around] if around else _starts(reading, wanted, limit)
    found: dict[str, Task] = {}
    is_cut = False
    at_once = max(1, limit // 30)
    for at in range(0, len(starts), at_once):
        if len(found) >= limit:
            is_cut = True
            break
        only_open = around is None
        is_cut = _follow(reading, starts[at : at + at_once], found, limit, only_open=only_open)
    edges = [
        [blocker, task.task_id]
        for task in found.values()
        for blocker in task.blockers
        if blocker in found
    ]
    drawn = {one for edge in edges for one in edge} | ({around} if around else set())
    nodes = [_node(task, wanted) for task in found.values() if task.task_id in drawn]
    return {"nodes": nodes, "edges": edges, "is_cut": is_cut}


def _follow(
    reading: Reading, level: Sequence[str], found: dict[str, Task], limit: int, *, only_open: bool
) -> bool:
    """Add tasks, and all that they are connected with; return whether there is more than fits."""
    while level:
        new = reading.tasks([one for one in level if one not in found])
        room = limit - len(found)
        found |= dict(list(new.items())[:room])
        if len(new) > room:
            return True
        ahead = reading.open_waiting(list(new), limit) if new else {}
        others = {other for waiting in ahead.values() for other in waiting}
        others |= {one for task in new.values() for one in task.blockers}
        level = sorted(others - found.keys())
        if only_open and level:
            level = sorted(reading.open_among(level))
    return False


def _starts(reading: Reading, wanted: Wanted, limit: int) -> list[str]:
    rows = reading.most_unblocking(wanted.only(ready_for=""), None, limit)
    held = reading.search(wanted.only(held=True), "", limit, False).rows
    waiting = reading.search(wanted.only(waiting=True), "", limit, False).rows
    known = [row.task_id for row in rows if row.unblocks]
    return list(dict.fromkeys([*known, *(row.task_id for row in [*held, *waiting])]))[:limit]


def _node(task: Task, wanted: Wanted) -> View:
    claim = task.claim
    is_held = claim is not None and wanted.now < claim.until <= wanted.latest_lease
    return {
        "task_id": task.task_id,
        "name": task.name,
        "status": task.status.value,
        "priority": task.priority,
        "claimed_by": claim.claimant if claim and is_held else None,
    }


def mermaid(graph: View) -> str:
    """Return the graph as Mermaid draws it."""
    nodes, edges = graph["nodes"], graph["edges"]
    assert isinstance(nodes, Sequence)
    assert isinstance(edges, Sequence)
    lines = ["flowchart LR"]
    for node in nodes:
        assert isinstance(node, dict)
        label = str(node["name"]).translate(_NO_SYNTAX)
        lines.append(f'  t{str(node["task_id"])[:8]}["{label}"]:::{node["status"]}')
    lines += [f"  t{str(edge[0])[:8]} --> t{str(edge[1])[:8]}" for edge in edges]  # type: ignore[index]
    lines += [
        "  classDef completed stroke:#1a7f4b,stroke-width:2px",
        "  classDef cancelled stroke-dasharray:4",
    ]
    return "\n".join(lines)


_NO_SYNTAX = str.maketrans({'"': "#quot;", "[": "(", "]": ")", "\n": " ", "<": "#lt;", ">": "#gt;"})
