"""FastMCP's own search of tools: reads tools and queries, and writes the five names of each."""

import asyncio
import json
import sys

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool


async def main() -> None:
    given = json.load(sys.stdin)
    tools = [
        Tool(name=one["name"], description=one["description"], parameters=one["inputSchema"])
        for one in given["tools"]
    ]
    search = BM25SearchTransform(max_results=5)
    found = [[tool.name for tool in await search._search(tools, q)] for q in given["queries"]]
    json.dump(found, sys.stdout)


asyncio.run(main())
