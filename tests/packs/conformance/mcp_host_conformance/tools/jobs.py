"""Jobs that run long, which the extension for tasks moves behind handles."""

import asyncio
from typing import Annotated

from mcp_host import Ask, MissingCapability, NotFound, tool
from pydantic import BaseModel


class Confirmation(BaseModel):
    confirm: bool


class Name(BaseModel):
    name: str


@tool(output=None)
def greet(name: str) -> str:
    """Greet somebody, at once."""
    return f"Hello, {name}!"


@tool(output=None)
async def slow_compute(seconds: float, label: str = "") -> str:
    """Compute for so long."""
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds:g} s"


@tool(output=None)
async def failing_job() -> str:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise NotFound("The job found nothing to do")


@tool(output=None)
async def protocol_error_job() -> str:
    """End in an error of the protocol after a while."""
    await asyncio.sleep(1)
    raise MissingCapability("roots")


@tool(output=None)
def confirm_delete(filename: str, sure: Annotated[Confirmation, Ask("Delete {filename}?")]) -> str:
    """Delete a file, once somebody agrees."""
    return f"Deleted {filename}" if sure.confirm else "Kept it"


@tool(output=None)
def multi_input(
    first: Annotated[Name, Ask("What is the first name?")],
    second: Annotated[Name, Ask("What is the second name?")],
) -> str:
    """Ask for two names at once."""
    return f"{first.name} and {second.name}"


@tool(output=None)
async def test_tool_with_task(user_name: Annotated[Name, Ask("What is your name?")]) -> str:
    """Ask for a name, and work on it for a while."""
    await asyncio.sleep(1)
    return f"Worked for {user_name.name}"


TOOLS = (
    greet,
    slow_compute,
    failing_job,
    protocol_error_job,
    confirm_delete,
    multi_input,
    test_tool_with_task,
)
