"""Five hundred tools over HTTP: few tokens, and what a token may not do is out of every way."""

import json
from typing import Any

import pytest
from core_home import Home
from core_web import Web
from mcp_host.packs.tokens import counter

pytestmark = pytest.mark.anyio

PACKS, EACH = 10, 50
PACK = f"""
from mcp_host import hookimpl, tool


def made(number):
    def run(text: str = "") -> str:
        "Do something with a text, as many tools do."
        return text
    return tool(name=f"number_{{number}}", read_only=number % 2 == 0)(run)


@hookimpl
def mcp_host_tools():
    return [made(number) for number in range({EACH})]
"""
SETTINGS = """
[host]
expose = "search"
[[http.tokens]]
token = { env = "READER" }
subject = "reader"
scopes = ["p1:read", "p2:read"]
[[http.tokens]]
token = { env = "WRITER" }
subject = "writer"
scopes = ["*"]
[packs.p1]
exclude = ["number_4"]
[packs.p1.tools.number_6]
hidden = true
[packs.p2]
read_only = true
"""
READER, WRITER = "a-token-for-reading", "a-token-for-writing"
FOR_BOTH, FOR_WRITER, FOR_NOBODY = (
    ["p1_number_2", "p2_number_2"],
    ["p1_number_3", "p3_number_2", "p3_number_3"],
    ["p1_number_4", "p1_number_6", "p2_number_3", "p9_number_77"],
)


@pytest.fixture
def many(home: Home) -> Home:
    for number in range(PACKS):
        home.add_pack(f"p{number}", PACK)
    others = "".join(f"[packs.p{n}]\n" for n in range(PACKS) if n not in (1, 2))
    home.write(SETTINGS + others, "host.toml")
    return home


async def by(web: Web, tool: str, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = await web.ask("tools/call", name=tool, arguments=arguments)
    return result.get("result", {"isError": True, **result})


async def ways(web: Web, name: str) -> dict[str, bool]:
    """On which ways a tool can be reached."""
    found = await by(web, "host_search", query=name.replace("_", " "), limit=20)
    described = await by(web, "host_describe", names=[name])
    called = await by(web, "host_call", name=name, arguments={"text": "x"})
    straight = await by(web, name, text="x")
    return {
        "found": f'"{name}"' in json.dumps(json.loads(found["content"][0]["text"])),
        "described": not described.get("isError"),
        "called": not called.get("isError"),
        "straight": not straight.get("isError"),
    }


async def test_many_tools_cost_few_tokens_and_a_token_may_do_the_same_on_every_way(
    many: Home,
) -> None:
    env = {"READER": READER, "WRITER": WRITER}
    async with (
        many.http("--config", "host.toml", env=env) as server,
        Web(server.url, READER) as reader,
        Web(server.url, WRITER) as writer,
    ):
        listed = (await writer.ask("tools/list"))["result"]["tools"]
        assert len(listed) == 4
        assert counter().count(json.dumps(listed, separators=(",", ":"))) <= 500

        for name in (*FOR_BOTH, *FOR_WRITER, *FOR_NOBODY):
            may_read, may_write = name in FOR_BOTH, name not in FOR_NOBODY
            assert set((await ways(reader, name)).values()) == {may_read}, name
            assert set((await ways(writer, name)).values()) == {may_write}, name
