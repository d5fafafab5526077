"""A task, and those who work on it."""

from dataclasses import dataclass, field

from ..errors import InvalidError
from .rules import MAX_DESCRIPTION, MAX_TITLE, PRIORITIES, TYPES, iso_date, one_of


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the backend tells it. Dates and times stay the ISO 8601 texts they came as.

    Invariants: it never changes: after a change there is another. `new_branch` depends on `id`,
    `type`, `created_at` and `project_id` alone.
    """

    id: int
    title: str
    description: str | None = None
    type: str = "feature"
    priority: str = "MEDIUM"
    status: str = "TODO"
    branch_name: str | None = None
    deadline: str | None = None
    project_id: int | None = None
    assignee_id: int | None = None
    collaborator_ids: tuple[int, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None
    deleted_at: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return the task as plain data, in the order of the fields."""
        data: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        data["collaborator_ids"] = list(self.collaborator_ids)
        return data

    @property
    def new_branch(self) -> str:
        """The name of a branch for this task: the same everywhere, so that two starts agree."""
        import hashlib  # here, since it takes 3 ms that a list of tasks does not wait for

        seed = f"{self.id}\n{self.created_at or ''}\n{self.project_id or ''}"
        kind = self.type if self.type in TYPES else "feature"
        return f"{kind}/task-{self.id}-{hashlib.sha256(seed.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A task to be made. Checked on making, so that every store refuses the same drafts."""

    title: str
    project_id: int | None = None
    description: str | None = None
    type: str = "feature"
    priority: str = "MEDIUM"
    deadline: str | None = None
    assignee_id: int | None = None
    collaborator_ids: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise InvalidError("A task needs a title.")
        if len(self.title) > MAX_TITLE:
            raise InvalidError(
                f"A title has at most {MAX_TITLE} characters; this has {len(self.title)}."
            )
        if len(self.description or "") > MAX_DESCRIPTION:
            raise InvalidError(f"A description has at most {MAX_DESCRIPTION} characters.")
        if "\0" in self.title + (self.description or ""):
            raise InvalidError("Title and description cannot hold a NUL character.")
        one_of("type", self.type, TYPES)
        one_of("priority", self.priority, PRIORITIES)
        if self.deadline is not None:
            iso_date(self.deadline)


@dataclass(frozen=True, slots=True)
class Comment:
    """What somebody wrote to a task. `at` is an ISO 8601 text."""

    id: int
    author: str
    text: str
    at: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return the comment as plain data."""
        return {"id": self.id, "author": self.author, "content": self.text, "created_at": self.at}


@dataclass(frozen=True, slots=True)
class User:
    """The caller, as the backend knows them."""

    id: int
    username: str
    email: str
