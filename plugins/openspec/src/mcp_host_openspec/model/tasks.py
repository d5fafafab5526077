"""Task lists: which lines are tasks, which are done, and what is odd about their numbering."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from .text import ANY, NOT_S, S, decode, pattern, trim

_TASK: Final = pattern(
    rf"{S}*(?:[-*+]|\d{{1,9}}[.)]){S}*\[(?:{S}*([^\]{S[1:-1]}\U00010000-\U0010ffff]?){S}*\](?![(\[])"
    rf"|{S}+\]){S}*({ANY}*)"
)
_LIST_ITEM: Final = pattern(rf"{S}*(?:[-*+]|\d{{1,9}}[.)]){S}+{NOT_S}")
_FENCE: Final = pattern(rf" {{0,3}}(`{{3,}}|~{{3,}})({ANY}*)")
_FRONT_MATTER: Final = pattern(rf"---{S}*\Z")
_GROUP: Final = pattern(r" {0,3}##[ \t]+(\d+)\.(?:[ \t]|\r?\Z)")
_H2: Final = pattern(r" {0,3}##(?!#)(?:[ \t]+|[ \t]*\r?\Z)")
_TASK_ID: Final = pattern(rf"(\d+(?:\.\d+)+(?:[A-Za-z]+)?)(?={S}|\Z)")
_CODE_COLUMN: Final = 4


class Task(NamedTuple):
    """One line with a box to tick."""

    done: bool
    text: str
    line: int


class Progress(NamedTuple):
    """How far a change is."""

    total: int = 0
    completed: int = 0

    @property
    def remaining(self) -> int:
        """Tasks still to do."""
        return self.total - self.completed

    @property
    def percentage(self) -> int:
        """Whole per cent; 0 without tasks."""
        return int(100 * self.completed / self.total + 0.5) if self.total else 0

    @property
    def status(self) -> str:
        """`no-tasks`, `complete` or `in-progress`."""
        if not self.total:
            return "no-tasks"
        return "in-progress" if self.remaining else "complete"

    def __add__(self, other: "Progress") -> "Progress":  # type: ignore[override]
        return Progress(self.total + other.total, self.completed + other.completed)


class Numbered(NamedTuple):
    """A task with a number such as 2.1 below a heading with a number such as 2."""

    id: str
    group: str
    line: int

    @property
    def own_group(self) -> str:
        """The group the task's own number names."""
        return self.id.split(".")[0]

    @property
    def misplaced(self) -> bool:
        """Whether the two groups differ; leading zeros do not count."""
        return _bare(self.own_group) != _bare(self.group)


class TaskDocument:
    """A task file. Everything is read when it is asked for, and then kept."""

    def __init__(self, data: bytes) -> None:
        self.text: Final = decode(data)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, those in fenced blocks and comments included."""
        return tuple(
            Task((found[1] or "").lower() == "x", trim(found[2]), number)
            for number, line in enumerate(self.text.split("\n"), 1)
            if "[" in line and (found := _TASK.match(line)) is not None
        )

    @cached_property
    def progress(self) -> Progress:
        """How many tasks there are, and how many are done."""
        return Progress(len(self.tasks), sum(task.done for task in self.tasks))

    @cached_property
    def first_list_item(self) -> int | None:
        """1-based line of the first list item outside fences, comments, front matter and code."""
        return next(_list_items(self.text.split("\n")), None)

    @cached_property
    def numbered(self) -> tuple[Numbered, ...]:
        """The tasks with numbers below headings with numbers."""
        ids = {task.line: found[1] for task in self.tasks if (found := _TASK_ID.match(task.text))}
        group: str | None = None
        numbered = []
        for number, line in enumerate(self.text.split("\n"), 1):
            if _H2.match(line):
                heading = _GROUP.match(line)
                group = heading[1] if heading else None
            if group is not None and number in ids:
                numbered.append(Numbered(ids[number], group, number))
        return tuple(numbered)


def _bare(number: str) -> str:
    return number.lstrip("0") or "0"


def _list_items(lines: list[str]) -> Iterator[int]:
    fence: str | None = None
    in_comment = False
    for index in range(_front_matter_end(lines), len(lines)):
        line = lines[index]
        if in_comment:
            in_comment = "-->" not in line
            continue
        if run := _FENCE.match(line):
            if fence is None:
                fence = run[1]
            elif run[1][0] == fence[0] and len(run[1]) >= len(fence) and not trim(run[2]):
                fence = None
            continue
        if fence is not None:
            continue
        if trim(line).startswith("<!--"):
            in_comment = "-->" not in line[line.index("<!--") + 4 :]
            continue
        if _LIST_ITEM.match(line) and _indent(line) < _CODE_COLUMN:
            yield index + 1


def _front_matter_end(lines: list[str]) -> int:
    """Index of the first line below the front matter; 0 without any."""
    if not _FRONT_MATTER.match(lines[0].removeprefix("\ufeff")):
        return 0
    return next((i + 1 for i in range(1, len(lines)) if _FRONT_MATTER.match(lines[i])), 0)


def _indent(line: str) -> int:
    column = 0
    for character in line:
        if character == " ":
            column += 1
        elif character == "\t":
            column += _CODE_COLUMN - column % _CODE_COLUMN
        else:
            break
    return column
