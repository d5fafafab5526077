"""Tasks and plans as Markdown, for resources and prompts."""

from collections.abc import Mapping, Sequence

from ..errors import Json

_MOST_ROWS = 50


def project_text(info: Mapping[str, Json], ready: Sequence[Mapping[str, Json]]) -> str:
    """Return the plan on one page: what there is, and what can be begun."""
    counts = info["task_counts"]
    assert isinstance(counts, Mapping)
    lines = [f"# {info['name']}", ""]
    if info["description"]:
        lines += [str(info["description"]), ""]
    lines += [f"- {status}: {count}" for status, count in counts.items()]
    lines += [f"- today: {info['today']}, {info['time_zone']}", "", "## Ready", ""]
    lines += [row_text(row) for row in ready[:_MOST_ROWS]] or ["Nothing is ready."]
    return "\n".join(lines) + "\n"


def row_text(row: Mapping[str, Json]) -> str:
    due = f", due {row['due_date']}" if row["due_date"] else ""
    held = f", held by {row['claimed_by']}" if row.get("claimed_by") else ""
    return f"- `{str(row['task_id'])[:8]}` {row['name']} (priority {row['priority']}{due}{held})"


def task_text(
    task: Mapping[str, Json],
    related: Mapping[str, Mapping[str, Json]],
    history: Sequence[Mapping[str, Json]],
) -> str:
    """Return a task with its details, its relations by name, and what happened to it."""
    lines = [f"# {task['name']}", ""]
    facts = ["task_id", "status", "priority", "due_date", "claimed_by", "claimed_until"]
    lines += [f"- {fact}: {task[fact]}" for fact in facts if task.get(fact) is not None]
    tags = task["tags"]
    if isinstance(tags, Sequence) and tags:
        lines.append(f"- tags: {', '.join(map(str, tags))}")
    lines += [f"- revision: {task['revision']}, updated {task['updated_at']}", ""]
    lines += [str(task["details"]), ""]
    for name, title in (
        ("blockers", "Waits for"),
        ("blocks", "Blocks"),
        ("subtasks", "Subtasks"),
        ("subtask_of", "Subtask of"),
    ):
        lines += _relation(title, task[name], related)
    notes = task.get("notes")
    if isinstance(notes, Sequence) and notes:
        lines += ["## Notes", ""]
        lines += [
            f"- {one['at']} {one['by']}: {one['text']}" for one in notes if isinstance(one, Mapping)
        ]
        lines.append("")
    lines += ["## History", ""]
    lines += [f"- {one['at']} {one['action']} by {one['caller']}" for one in history]
    return "\n".join(lines) + "\n"


def _relation(title: str, value: Json, related: Mapping[str, Mapping[str, Json]]) -> list[str]:
    ids = [value] if isinstance(value, str) else value
    if not isinstance(ids, Sequence) or not ids:
        return []
    lines = []
    for task_id in map(str, ids):
        known = related.get(task_id)
        said = f" {known['name']} ({known['status']})" if known else ""
        lines.append(f"- `{task_id[:8]}`{said}")
    return [f"## {title}", "", *lines, ""]
