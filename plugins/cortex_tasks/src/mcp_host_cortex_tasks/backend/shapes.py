"""What the API takes and gives."""

from datetime import date, datetime
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..model.rules import MAX_COMMENT, MAX_DESCRIPTION, MAX_ID, MAX_TITLE

Item = TypeVar("Item")


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("cannot hold a NUL character")
    return text


Number = Annotated[int, Field(ge=1, le=MAX_ID)]
Line = Annotated[
    str, Field(max_length=MAX_TITLE), AfterValidator(_says_something), AfterValidator(_plain)
]
Prose = Annotated[str, Field(max_length=MAX_DESCRIPTION), AfterValidator(_plain)]
Remark = Annotated[
    str,
    Field(min_length=1, max_length=MAX_COMMENT),
    AfterValidator(_says_something),
    AfterValidator(_plain),
]
Password = Annotated[str, Field(min_length=6, max_length=1024)]
Email = Annotated[str, Field(max_length=320, pattern=r"^[^@\s]+@[^@\s]+$")]
Type = Literal["feature", "bug", "docs", "fix", "chore", "refactor"]
Priority = Literal["LOW", "MEDIUM", "HIGH"]
Status = Literal["TODO", "IN_PROGRESS", "REVIEW", "DONE"]


class Shape(BaseModel):
    """Read from a row's attributes."""

    model_config = ConfigDict(from_attributes=True)


class Token(Shape):
    """A login."""

    access_token: str
    token_type: str = "bearer"  # noqa: S105  the scheme's name


class NewUser(Shape):
    """A registration."""

    username: Line
    email: Email
    password: Password
    organization_id: Number | None = None


class ChangedUser(Shape):
    """What one may change about oneself."""

    username: Line | None = None
    email: Email | None = None
    password: Password | None = None
    old_password: str | None = Field(default=None, max_length=1024)


class UserOut(Shape):
    """A user as shown."""

    id: int
    username: str
    email: str
    organization_id: int | None


class RenewedUser(UserOut, Token):
    """A user whose password was changed, with the token to go on with."""


class NewNamed(Shape):
    """An organization or a project to be made or changed."""

    name: Line
    description: Prose | None = None
    organization_id: Number | None = None


class OrganizationOut(Shape):
    """An organization as shown."""

    id: int
    name: str


class ProjectOut(Shape):
    """A project as shown."""

    id: int
    name: str
    description: str | None
    organization_id: int
    owner_id: int | None
    members: list[UserOut]
    created_at: datetime


class NewMember(Shape):
    """Somebody to be in a project."""

    user_id: Number


class Overview(Shape):
    """How the caller's tasks stand."""

    total: int
    by_status: dict[str, int]
    by_priority: dict[str, int]
    overdue: int


class NewTask(Shape):
    """A task to be made."""

    title: Line
    project_id: Number
    description: Prose | None = None
    type: Type = "feature"
    priority: Priority = "MEDIUM"
    status: Status = "TODO"
    branch_name: Line | None = None
    deadline: date | None = None
    assignee_id: Number | None = None
    collaborator_ids: list[Number] = Field(default_factory=list, max_length=100)


class ChangedTask(Shape):
    """The fields of a task to change; those not given stay."""

    title: Line | None = None
    description: Prose | None = None
    type: Type | None = None
    priority: Priority | None = None
    status: Status | None = None
    branch_name: Line | None = None
    deadline: date | None = None
    project_id: Number | None = None
    assignee_id: Number | None = None
    collaborator_ids: list[Number] | None = Field(default=None, max_length=100)


class TaskOut(Shape):
    """A task as shown."""

    id: int
    title: str
    description: str | None
    type: str
    priority: str
    status: str
    branch_name: str | None
    deadline: date | None
    project_id: int
    assignee_id: int | None
    collaborator_ids: list[int]
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None


class NewComment(Shape):
    """A comment to be made."""

    content: Remark


class CommentOut(Shape):
    """A comment as shown."""

    id: int
    task_id: int
    author: str
    author_id: int
    content: str
    created_at: datetime
    updated_at: datetime


class Said(Shape):
    """What was done, in words."""

    message: str


class Page(BaseModel, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    total: int
    page: int
    page_size: int
