"""One use of a mounted server by each library of Python: `client_libraries.py NAME COMMAND…`.

It runs in an environment that has the library, and prints what the library found as JSON.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

NAME = {"name": "Ann"}
PATIENCE = 600.0
"""Seconds in which a busy machine answers."""
ENVIRONMENT = dict(os.environ)
"""The libraries pass on but a part of it by themselves."""


def words(content: Any) -> str:
    """The text of a result, whatever the library makes of it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(words, content))
    for key in ("content", "text", "contents", "messages", "result"):
        found = content.get(key) if isinstance(content, dict) else getattr(content, key, None)
        if found is not None:
            return words(found)
    return str(content)


async def failure(call: Awaitable[Any]) -> str:
    """What a call that must fail says, raised or returned."""
    try:
        return words(await call)
    except Exception as error:
        return str(error)


async def sdk(command: list[str]) -> dict[str, Any]:
    """The SDK's client of its second version."""
    mcp, types = import_module("mcp"), import_module("mcp_types")

    async def agree(_: Any, asked: Any) -> Any:
        return types.ElicitResult(action="accept", content={"sure": True})

    parameters = mcp.StdioServerParameters(command=command[0], args=command[1:], env=ENVIRONMENT)
    async with mcp.Client(parameters, elicitation_callback=agree) as client:
        return {
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "call": words(await client.call_tool("server_greet", NAME)),
            "error": await failure(client.call_tool("server_fail", {})),
            "resource": words(await client.read_resource("server://one")),
            "prompt": words(await client.get_prompt("server_hello", NAME)),
            "question": words(await client.call_tool("server_ask", {})),
        }


async def sdk_1(command: list[str]) -> dict[str, Any]:
    """The SDK's client of its first version."""
    mcp, types = import_module("mcp"), import_module("mcp.types")
    stdio = import_module("mcp.client.stdio").stdio_client

    async def agree(_: Any, asked: Any) -> Any:
        return types.ElicitResult(action="accept", content={"sure": True})

    parameters = mcp.StdioServerParameters(command=command[0], args=command[1:], env=ENVIRONMENT)
    async with (
        stdio(parameters) as streams,
        mcp.ClientSession(*streams, elicitation_callback=agree) as client,
    ):
        await client.initialize()
        return {
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "call": words(await client.call_tool("server_greet", NAME)),
            "error": await failure(client.call_tool("server_fail", {})),
            "resource": words(await client.read_resource("server://one")),
            "prompt": words(await client.get_prompt("server_hello", NAME)),
            "question": words(await client.call_tool("server_ask", {})),
        }


async def fastmcp(command: list[str]) -> dict[str, Any]:
    """FastMCP's client."""
    library = import_module("fastmcp")
    transports = import_module("fastmcp.client.transports")

    async def agree(message: str, kind: Any, *_: Any) -> Any:
        return {"sure": True}

    transport = transports.StdioTransport(command[0], command[1:], env=ENVIRONMENT)
    async with library.Client(transport, elicitation_handler=agree) as client:
        return {
            "tools": [tool.name for tool in await client.list_tools()],
            "call": words(await client.call_tool("server_greet", NAME)),
            "error": await failure(client.call_tool("server_fail", {})),
            "resource": words(await client.read_resource("server://one")),
            "prompt": words(await client.get_prompt("server_hello", NAME)),
            "question": words(await client.call_tool("server_ask", {})),
        }


async def pydantic_ai(command: list[str]) -> dict[str, Any]:
    """Pydantic AI's tool set."""
    library = import_module("pydantic_ai.mcp")
    transports = import_module("fastmcp.client.transports")

    async def agree(*_: Any) -> Any:
        return {"sure": True}

    transport = transports.StdioTransport(command[0], command[1:], env=ENVIRONMENT)
    toolset = library.MCPToolset(transport, elicitation_handler=agree)
    async with toolset as client:
        return {
            "tools": [tool.name for tool in await client.list_tools()],
            "call": words(await client.direct_call_tool("server_greet", NAME)),
            "error": await failure(client.direct_call_tool("server_fail", {})),
            "resource": words(await client.read_resource("server://one")),
            "prompt": words(await client.get_prompt("server_hello", NAME)),
            "question": words(await client.direct_call_tool("server_ask", {})),
        }


async def agents(command: list[str]) -> dict[str, Any]:
    """OpenAI's Agents SDK, which asks nobody."""
    library = import_module("agents.mcp")
    parameters = {"command": command[0], "args": command[1:], "env": ENVIRONMENT}
    async with library.MCPServerStdio(
        parameters, client_session_timeout_seconds=PATIENCE
    ) as client:
        return {
            "tools": [tool.name for tool in await client.list_tools()],
            "call": words(await client.call_tool("server_greet", NAME)),
            "error": await failure(client.call_tool("server_fail", {})),
            "resource": words(await client.read_resource("server://one")),
            "prompt": words(await client.get_prompt("server_hello", NAME)),
            "question": await failure(client.call_tool("server_ask", {})),
        }


async def langchain(command: list[str]) -> dict[str, Any]:
    """LangChain's adapters."""
    library = import_module("langchain_mcp_adapters.client")
    callbacks = import_module("langchain_mcp_adapters.callbacks")
    types = import_module("mcp.types")

    async def agree(*_: Any) -> Any:
        return types.ElicitResult(action="accept", content={"sure": True})

    program, *rest = command
    server = {"transport": "stdio", "command": program, "args": rest, "env": ENVIRONMENT}
    client = library.MultiServerMCPClient(
        {"host": server}, callbacks=callbacks.Callbacks(on_elicitation=agree)
    )
    tools = {tool.name: tool for tool in await client.get_tools()}
    (resource,) = await client.get_resources("host", uris="server://one")
    return {
        "tools": list(tools),
        "call": words(await tools["server_greet"].ainvoke(NAME)),
        "error": await failure(tools["server_fail"].ainvoke({})),
        "resource": resource.as_string(),
        "prompt": words(
            [m.content for m in await client.get_prompt("host", "server_hello", arguments=NAME)]
        ),
        "question": words(await tools["server_ask"].ainvoke({})),
    }


LIBRARIES: dict[str, Callable[[list[str]], Awaitable[dict[str, Any]]]] = {
    each.__name__: each for each in (sdk, sdk_1, fastmcp, pydantic_ai, agents, langchain)
}


async def main(name: str, *command: str) -> None:
    """Print what a library finds at the server of a command."""
    print(json.dumps(await LIBRARIES[name](list(command))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
