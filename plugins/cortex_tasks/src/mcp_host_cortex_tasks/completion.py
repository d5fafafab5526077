"""Task numbers that a client can offer while one is typed."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import Complete
from pydantic import Field

if TYPE_CHECKING:
    from mcp_host_cortex_tasks.service.command import Ctx


async def numbers(ctx: "Ctx", /, value: str) -> list[str]:
    """The caller's tasks whose number begins so."""
    return await ctx.numbers(value)


TaskNumber = Annotated[str, Field(description="The task's number"), Complete(numbers)]
