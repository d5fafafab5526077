"""What a tool can do with its running call."""

import asyncio

from mcp_host import Context, tool

from ..service import Lists

PAUSE = 0.05  # seconds; the suite wants notices one by one, not in a burst


@tool(read_only=True)
async def test_tool_with_logging(context: Context) -> str:
    """Send three log messages."""
    context.log("info", "Tool execution started")
    await asyncio.sleep(PAUSE)
    context.log("info", "Tool processing data")
    await asyncio.sleep(PAUSE)
    context.log("info", "Tool execution completed")
    return "Logged three times."


@tool(read_only=True)
def test_logging_tool(context: Context) -> str:
    """Send one log message, from a worker thread."""
    context.log("info", "A message for those who asked for it")
    return "Logged once."


@tool(read_only=True)
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        context.progress(done, 100, f"Completed {done} of 100")
        await asyncio.sleep(PAUSE)
    return "Reported progress three times."


@tool(read_only=True)
async def test_reconnection(context: Context) -> str:
    """Close the stream in the middle of the call, so that the client comes back for the answer."""
    context.log("info", "Before the stream closes")
    context.close_stream()
    await asyncio.sleep(4 * PAUSE)
    context.log("info", "After the stream was closed")
    return "Reconnection test completed."


@tool
def test_trigger_tool_change(lists: Lists, /) -> str:
    """Announce that the list of tools changed."""
    lists.announce()
    return "Announced."


@tool
def test_trigger_prompt_change(lists: Lists, /) -> str:
    """Announce that the list of prompts changed."""
    lists.announce()
    return "Announced."


TOOLS = (
    test_tool_with_logging,
    test_logging_tool,
    test_tool_with_progress,
    test_reconnection,
    test_trigger_tool_change,
    test_trigger_prompt_change,
)
