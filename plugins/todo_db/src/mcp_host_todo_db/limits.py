"""How long a task's texts may be, and the states that are asked for: what the lists say of both."""

from typing import Literal

Status = Literal["all", "pending", "completed"]

MAX_USER_ID = 255
MAX_TITLE = 255
MAX_DESCRIPTION = 10_000
MAX_PAGE = 500
