"""ctx tasks new | start | pr | sync | done | edit | comment | delete | status, and ctx undo"""

import argparse
import sys
from collections.abc import Mapping
from contextlib import suppress

from ..errors import InvalidError, NotFoundError
from ..model.rules import task_id
from ..model.task import Draft
from ..service.complete import Complete
from ..service.start import Start
from ..service.status import status as stand
from ..service.submit import Submit
from ..service.sync import Sync
from ..service.undo import undo as take_back
from ..service.work import Work
from ..storage.config import Config
from .answer import Answer, say
from .common import note, noting, work_of, would
from .feedback import feedback_lines


def new(given: argparse.Namespace, config: Config) -> Answer:
    """Make a task."""
    draft = Draft(
        title=given.title,
        description=given.description,
        type=given.type.lower(),
        priority=given.priority.upper(),
        deadline=given.deadline,
        project_id=None if given.project is None else task_id(given.project),
    )
    if given.dry_run:
        return would({"success": True}, [f"make the task {draft.title!r}"])
    work = work_of(given, config)
    task = work.tasks.create(draft)
    note(work, "new", task.id, f"make task {task.id}")
    data = {"success": True, "task_id": task.id, "task": task.as_data()}
    return Answer(data, say(f"Task {task.id} is made. Begin with: ctx tasks start {task.id}"))


def start(given: argparse.Namespace, config: Config) -> Answer:
    """Begin a task, a new one where a title is given."""
    work = work_of(given, config)
    if (given.id is None) == (given.title is None):
        raise InvalidError("Name a task by its number, or a new one by --title.", reason="usage")
    if given.title is not None and given.dry_run:
        return would({"success": True}, [f"make the task {given.title!r} and begin it"])
    number, made = (task_id(given.id), False) if given.id is not None else _titled(given, work)
    on = None if given.on is None else task_id(given.on)
    data = Start(work, number, given.branch, given.worktree, given.reopen, given.steal, on).run()
    place = f" in {data['worktree']}" if "worktree" in data else ""
    new = {"created": made} if given.title is not None else {}
    return _done({**data, **new}, f"Task {number} is on {data['branch']}{place}.")


def submit(given: argparse.Namespace, config: Config) -> Answer:
    """Commit, push, open the pull request."""
    work = work_of(given, config)
    work.refuse_nameless(_named(given))
    work = work.at_task(_named(given))
    what = (
        tuple(given.add), tuple(given.allow), given.use_title,
        given.title, given.body, given.draft, given.comment, not given.no_pr,
    )  # fmt: skip
    try:
        data = Submit(work, given.message, *what).run()
    except InvalidError as error:
        asked = None if given.message is not None else _ask_message(error, given)
        if asked is None:
            raise
        data = Submit(work, asked, *what).run()
    left_out = data.get("left_out")
    more = [f"Not added: {name}" for name in left_out] if isinstance(left_out, list) else []
    return _done(data, f"Task {data['task_id']} is in review.", str(data["pr_url"] or ""), *more)


def sync(given: argparse.Namespace, config: Config) -> Answer:
    """Bring the branch up to date."""
    work = work_of(given, config)
    work.refuse_nameless(_named(given))
    work = work if given.proceed or given.abort else work.at_task(_named(given))
    data = Sync(work, given.how, given.proceed, given.abort).run()
    if data.get("aborted"):
        return Answer(data, say(f"{data['branch']} is as it was."))
    verb = "merged in" if data["how"] == "merge" else "rebased on"
    told = f"{data['branch']}: {verb} {data['onto']}."
    return _done(data, "It is up to date already." if data["already"] else told)


def done(given: argparse.Namespace, config: Config) -> Answer:
    """Complete the current task."""
    work = work_of(given, config)
    work.refuse_nameless(_named(given))
    work = work if given.task is not None else work.at_task(None)
    data = Complete(work, given.force, _named(given), given.comment).run()
    cleaned = data["cleaned"]
    gone = f"Deleted: {', '.join(cleaned)}." if isinstance(cleaned, list) and cleaned else ""
    return _done(data, f"Task {data['task_id']} is done.", gone)


def delete(given: argparse.Namespace, config: Config) -> Answer:
    """Delete a task."""
    number = task_id(given.id)
    work = work_of(given, config)
    if given.dry_run:
        work.tasks.get(number)
        return would({"success": True, "task_id": number}, [f"delete task {number}"])
    with noting(work, "delete", number, f"delete task {number}") as is_repeated:
        if not is_repeated:
            work.tasks.get(number)
        with suppress(NotFoundError):  # it was there: the answer was lost, or we were heard twice
            work.tasks.delete(number)
    data = {"success": True, "task_id": number, "deleted": True}
    return Answer(data, say(f"Task {number} is deleted. To bring it back: ctx undo"))


def status(given: argparse.Namespace, config: Config) -> Answer:
    """Tell where one stands."""
    data = stand(work_of(given, config).at_task(_named(given)), online=not given.offline)
    whose = (
        f"the branch of task {data['task_id']}" if data["is_task_branch"] else "no task's branch"
    )
    return Answer(data, say(f"{data['branch'] or 'Detached HEAD'}: {whose}.", *_standing(data)))


def undo(given: argparse.Namespace, config: Config) -> Answer:
    """Take the last command back."""
    data = take_back(work_of(given, config))
    steps = data.get("would") or data.get("steps")
    lines = [f"  {step}" for step in steps] if isinstance(steps, list) else []
    verb = "Would take back" if given.dry_run else "Taken back:"
    first = f"{verb} {data['undone']} of task {data['task_id']}."
    return Answer(data, say(first, *lines, *_kept(data)))


def _standing(data: Mapping[str, object]) -> list[str]:
    """Say what is not committed, not pushed, merged or pending, a line each."""
    lines = []
    counts = {"changed": "changed", "untracked": "new", "ahead": "to push", "behind": "behind"}
    told = [f"{data[key]} {word}" for key, word in counts.items() if data.get(key)]
    if told:
        lines.append(f"{', '.join(told)}.")
    if data["in_progress"]:
        lines.append(f"A {data['in_progress']} is in progress.")
    evidence = data.get("evidence")
    if isinstance(evidence, Mapping) and evidence.get("reverted_by"):
        lines.append(f"It was merged and taken back by {evidence['reverted_by'][:10]}.")
    elif isinstance(evidence, Mapping) and evidence.get("merged"):
        lines.append(f"It is merged ({evidence['merged']}): ctx tasks done")
    request = data.get("request")
    lines += feedback_lines(request if isinstance(request, Mapping) else None)
    pending = data.get("pending")
    if isinstance(pending, Mapping):
        steps = "; ".join(pending["steps"])
        lines.append(f"Pending of {pending['command']} of task {pending['task_id']}: {steps}.")
    return lines


def _titled(given: argparse.Namespace, work: Work) -> tuple[int, bool]:
    """Return the caller's open task of a title, made where there is none: repeating is safe."""
    draft = Draft(title=given.title, description=given.description)
    work.checkout.state()  # without a repository no task is made
    for task in work.tasks.mine():
        if task.title == draft.title and task.status != "DONE":
            return task.id, False
    made = work.tasks.create(draft)
    note(work, "new", made.id, f"make task {made.id}")
    return made.id, True


def _named(given: argparse.Namespace) -> int | None:
    return None if given.task is None else task_id(given.task)


def _ask_message(error: InvalidError, given: argparse.Namespace) -> str | None:
    """Ask a person at a terminal for the commit message; None where there is nobody to ask."""
    if error.reason != "commit_message_required" or given.json or not sys.stdin.isatty():
        return None
    return input("Commit message: ")


def _done(data: Mapping[str, object], *lines: str) -> Answer:
    planned = data.get("would")
    if isinstance(planned, list):
        return would(data, planned)
    warnings = data.get("warnings")
    told = [f"Note: {text}" for text in warnings] if isinstance(warnings, list) else []
    carried = data.get("carried")
    if isinstance(carried, list):
        told.append(f"Not committed, and still here: {', '.join(carried[:10])}")
    told += _kept(data)
    if isinstance(data.get("message"), str):
        told.append(str(data["message"]))
    return Answer(data, say(*(line for line in (*lines, *told) if line)))


def _kept(data: Mapping[str, object]) -> list[str]:
    kept = data.get("kept")
    ids = [item["id"] for item in kept] if isinstance(kept, list) else []
    return [f"Kept: {one}; to have it back: ctx kept restore {one}" for one in ids]
