"""What can be done with tasks: begun, followed, looked at, answered, cancelled."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .engine.protocol import Engine, Wish
from .errors import NoSuchTaskError
from .model import Task
from .settings import TasksSettings

LONGEST_MESSAGE = 500


class Tasks:
    """The tasks of every caller; each caller sees the own ones alone.

    `result_tool` gives the public name of the tool that clients without the extension use.
    `changed` hears the id of each task that is not as it was.
    """

    def __init__(
        self,
        engine: Engine,
        settings: TasksSettings,
        result_tool: Callable[[], str],
        changed: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._settings = settings
        self.result_tool = result_tool
        self._changed = changed

    async def begin(self, tool: str, limit: float, whose: str | None) -> Task:
        """Keep a new task of a caller. Raises `TooManyTasksError`."""
        now, settings = time.time(), self._settings
        task = Task(
            id=secrets.token_urlsafe(24),
            tool=tool,
            whose=whose,
            owner=self._engine.owner,
            created=now,
            updated=now,
            expires=now + limit + settings.keep,
            poll=settings.poll,
        )
        await self._engine.add(task, running=settings.running, kept=settings.kept)
        return task

    async def follow(self, task_id: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Note what a task does."""

        def follow(task: Task) -> Task:
            for event in events:
                task = task if task.has_ended else _after(task, event)
            return task

        await self._engine.change(task_id, follow)
        self._changed(task_id)

    async def told_here(self, task_ids: Sequence[str], whose: str | None) -> list[str]:
        """Which of these tasks a caller began, and this server knows of when they change.

        What another server runs is not among them: its changes are not heard of here.
        """
        found = [await self._engine.get(task_id) for task_id in task_ids]
        return [
            task.id
            for task in found
            if task is not None
            and task.whose == whose
            and (task.has_ended or task.owner == self._engine.owner)
        ]

    async def get(self, task_id: str, whose: str | None) -> Task:
        """Find a task that this caller began. Raises `NoSuchTaskError`."""
        task = await self._engine.get(task_id)
        if task is None or task.whose != whose:
            raise NoSuchTaskError
        return task

    async def answer(self, task_id: str, whose: str | None, answers: Mapping[str, Any]) -> None:
        """Take answers to what a task asks; what it does not ask is ignored.

        The task goes on when everything is answered. Raises `NoSuchTaskError`.
        """
        await self.get(task_id, whose)
        complete: dict[str, Any] = {}

        def take(task: Task) -> Task:
            complete.clear()
            known = {key: value for key, value in answers.items() if key in task.questions}
            if not known:
                return task
            open_ones = {key: asked for key, asked in task.questions.items() if key not in known}
            given = {**task.answers, **known}
            if open_ones:
                return replace(task, questions=open_ones, answers=given)
            complete.update({key.rpartition("#")[0]: value for key, value in given.items()})
            return replace(task, status="working", message="", questions={}, answers={})

        task = await self._engine.change(task_id, take)
        self._changed(task_id)
        if task is not None and complete:
            await self._engine.wish(task, Wish(task_id, answers=dict(complete)))

    async def cancel(self, task_id: str, whose: str | None) -> None:
        """Have a task end; nothing where it has. Raises `NoSuchTaskError`."""
        task = await self.get(task_id, whose)
        if not task.has_ended:
            await self._engine.wish(task, Wish(task_id, cancel=True))

    async def wishes(self, seconds: float) -> list[Wish]:
        """Wait so long for what callers want of the tasks that this server runs."""
        return await self._engine.wishes(seconds)


def _after(task: Task, event: Mapping[str, Any]) -> Task:
    """A task after something that it did."""
    match event:
        case {"progress": {"done": done, **rest}}:
            total, words = rest.get("total"), rest.get("message")
            share = f"{done:g} of {total:g}" if total is not None else f"{done:g}"
            return replace(task, message=_short(f"{share}: {words}" if words else share))
        case {"log": {"data": data}}:
            return replace(task, message=_short(str(data)))
        case {"questions": asked}:
            # A key is used once in a task: an answer that comes late answers nothing else.
            number = task.rounds + 1
            questions = {f"{key}#{number}": question for key, question in asked.items()}
            return replace(
                task, status="input_required", rounds=number, questions=questions, answers={}
            )
        case {"result": result}:
            return replace(task, status="completed", questions={}, answers={}, result=result)
        case {"error": error}:
            message = _short(str(error.get("message", "")))
            told = {key: value for key, value in error.items() if value is not None}
            return replace(
                task, status="failed", message=message, questions={}, answers={}, error=told
            )
        case {"cancelled": True}:
            return replace(task, status="cancelled", questions={}, answers={})
    return task


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
