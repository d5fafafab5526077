"""How well a search finds the tool that somebody means, beside plain BM25 and FastMCP's search.

Ten phrasings each of 51 tools: the packs' own and those of `golden.py`. Half of the phrasings may
be looked at while the ranker is worked on; the other half is only measured.
"""

import argparse
import asyncio
import json
import re
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias

from mcp_host.packs.discovery import keywords
from mcp_host.packs.search import Index
from mcp_host.testing import hosted

from .candidates import SERVERS, fastmcp_python
from .golden import LOOKED_AT, MADE_UP, PHRASES
from .table import show

PACKS = {
    "cortex": "mcp_host_cortex_tasks.plugin",
    "openspec": "mcp_host_openspec.plugin",
    "tasky": "mcp_host_tasky.plugin",
    "todo_db": "mcp_host_todo_db.plugin",
}
FIRST = 5
MANY = 900
Tools: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""Each tool with the pack that it is of."""


def main(arguments: Sequence[str]) -> None:
    """Print recall at 1 and at 5 of each search, and how long ours takes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --only search")
    parser.add_argument(
        "--misses", action="store_true", help="show what ours missed of the first half"
    )
    parser.add_argument("--no-fastmcp", action="store_true", help="do without FastMCP")
    options = parser.parse_args(arguments)
    tools = [*asyncio.run(_of_packs()), *((p, tool) for p, own in MADE_UP.items() for tool in own)]
    wanted = [(name, phrase) for name, phrases in PHRASES.items() for phrase in phrases]
    queries = [phrase for _, phrase in wanted]
    found = {"mcp-host": _ours(tools, queries), "plain BM25 (SQLite FTS5)": _plain(tools, queries)}
    if not options.no_fastmcp:
        found["FastMCP's BM25 search"] = _fastmcp(tools, queries)
    rows = [[name, *_recall(wanted, answers)] for name, answers in found.items()]
    heads = ["Search", "at 1, first half", "at 5, first half", "at 1, second", "at 5, second"]
    show(f"Recall over {len(wanted)} phrasings of {len(tools)} tools", heads, rows)
    if options.misses:
        _show_misses(wanted, found["mcp-host"])
    _show_times(queries)


async def _of_packs() -> Tools:
    with tempfile.TemporaryDirectory() as folder:
        async with hosted(PACKS, root=Path(folder), settled=False) as kit:
            catalog = kit.host.catalog
            return [(catalog.tools[name].pack, catalog.tools[name].listed) for name in kit.names()]


def _ours(tools: Tools, queries: Sequence[str]) -> list[list[str]]:
    index = Index(tools, _keywords)
    return [[tools[n][1]["name"] for n in index.rank(query)[:FIRST]] for query in queries]


def _keywords(pack: str) -> Sequence[str]:
    return keywords({"cortex": "mcp-host-cortex-tasks"}.get(pack, f"mcp-host-{pack}"))


def _plain(tools: Tools, queries: Sequence[str]) -> list[list[str]]:
    """The same texts in one column, no stems and no weights; any word may fit."""
    of_packs = {pack: " ".join(_keywords(pack)) for pack in {pack for pack, _ in tools}}
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE tools USING fts5(text)")
    for number, (pack, tool) in enumerate(tools):
        properties = tool["inputSchema"].get("properties", {})
        arguments = [f"{key} {of.get('description', '')}" for key, of in properties.items()]
        text = " ".join(
            [
                tool["name"],
                pack,
                of_packs[pack],
                str(tool.get("title", "")),
                tool["description"],
                *arguments,
            ]
        )
        database.execute("INSERT INTO tools(rowid, text) VALUES (?, ?)", (number, text))
    select = "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT 5"
    found = []
    for query in queries:
        match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        found.append([tools[n][1]["name"] for (n,) in database.execute(select, (match,))])
    return found


def _fastmcp(tools: Tools, queries: Sequence[str]) -> list[list[str]]:
    given = {"tools": [tool for _, tool in tools], "queries": queries}
    done = subprocess.run(
        [fastmcp_python(), SERVERS / "fastmcp_search.py"],
        input=json.dumps(given, default=str),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


def _recall(wanted: Sequence[tuple[str, str]], found: Sequence[Sequence[str]]) -> list[str]:
    figures = []
    for is_counted in (lambda place: place % 10 < LOOKED_AT, lambda place: place % 10 >= LOOKED_AT):
        for most in (1, FIRST):
            hits = [
                name in answers[:most]
                for place, ((name, _), answers) in enumerate(zip(wanted, found, strict=True))
                if is_counted(place)
            ]
            figures.append(f"{sum(hits) / len(hits):.3f}")
    return figures


def _show_misses(wanted: Sequence[tuple[str, str]], found: Sequence[Sequence[str]]) -> None:
    for place, ((name, phrase), answers) in enumerate(zip(wanted, found, strict=True)):
        if place % 10 < LOOKED_AT and name != (answers or [""])[0]:
            print(f"{'  ' if name in answers else '! '}{phrase!r}: {name}; found {answers[:3]}")


def _show_times(queries: Sequence[str]) -> None:
    index = Index(_many())
    times = [_seconds(lambda query=query: index.rank(query)) for query in queries]  # type: ignore[misc]
    figures = [median(times), quantiles(times, n=20)[-1], max(times)]
    row = [f"{MANY} tools", *(f"{1000 * figure:.2f} ms" for figure in figures)]
    show("Processor time of one search", ["Index", "median", "p95", "longest"], [row])


def _seconds(function: Callable[[], Any]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def _many() -> Tools:
    """Tools as servers of many kinds have them: a verb, a thing, and arguments."""
    verbs = [
        "create",
        "list",
        "get",
        "update",
        "delete",
        "search",
        "export",
        "import",
        "archive",
        "restore",
        "share",
        "move",
    ]
    services = ["crm", "wiki", "mail", "chat", "drive", "shop", "bank", "fleet"]
    things = [
        "contact",
        "page",
        "message",
        "file",
        "invoice",
        "order",
        "report",
        "user",
        "label",
        "comment",
    ]
    made = []
    for verb, service, thing in list(product(verbs, services, things))[:MANY]:
        properties = {
            f"{thing}_id": {"type": "string", "description": f"The {thing}'s id"},
            "fields": {"type": "array", "description": f"What to {verb} of the {thing}"},
            "limit": {"type": "integer", "description": "The most results"},
        }
        tool = {
            "name": f"{service}_{verb}_{thing}",
            "description": f"{verb.capitalize()} a {thing} of the {service}, as its owner may.",
            "inputSchema": {"type": "object", "properties": properties},
        }
        made.append((service, tool))
    return made
