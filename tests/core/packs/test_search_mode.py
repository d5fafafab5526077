"""Four tools in place of many: what may not be called is neither found, described nor called."""

import json
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller
from mcp_host.packs.discovery import keywords
from mcp_host.packs.search import Index
from mcp_host.packs.tokens import counter
from mcp_host.testing import Hosted, Person, hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
FOUR = ["host_search", "host_describe", "host_call_read_only", "host_call"]
ALL = {
    "cortex": "mcp_host_cortex_tasks.plugin",
    "openspec": "mcp_host_openspec.plugin",
    "tasky": "mcp_host_tasky.plugin",
    "todo_db": "mcp_host_todo_db.plugin",
}


def searching(**more: Any) -> dict[str, Any]:
    return {"host": {"expose": "search", **more}}


async def found(host: Hosted, query: str, limit: int = 20) -> list[str]:
    text = await host.value("host_search", query=query, limit=limit)
    return [each["name"] for each in json.loads(text)]


async def test_the_list_has_four_tools_and_what_is_always_shown(hosted: Hosting) -> None:
    async with hosted(SAMPLE, searching()) as host:
        assert host.names() == FOUR
    async with hosted(SAMPLE, searching(always=["sample_e*"])) as host:
        assert host.names() == [*FOUR, "sample_echo"]


async def test_the_four_tools_cost_less_than_five_hundred_tokens() -> None:
    async with hosted(SAMPLE, searching(always=[])) as host:
        listed = [host.listed(name) for name in host.names()]

    assert counter().count(json.dumps(listed, separators=(",", ":"))) <= 500


async def test_a_tool_is_found_described_and_called(hosted: Hosting) -> None:
    async with hosted(SAMPLE, searching()) as host:
        assert (await found(host, "return the text that was sent"))[0] == "sample_echo"
        described = json.loads(await host.value("host_describe", names=["sample_echo"]))
        assert described[0]["inputSchema"]["properties"].keys() == {"text", "number", "data"}
        result = await host.call("host_call", name="sample_echo", arguments={"text": "x"})
        straight = await host.call("sample_echo", text="x")

    assert result["structuredContent"] == straight["structuredContent"]


async def test_the_reading_call_takes_reading_tools_alone(hosted: Hosting) -> None:
    async with hosted(SAMPLE, searching()) as host:
        reading = await host.value("host_call_read_only", name="sample_echo", arguments={})
        refused = await host.error("host_call_read_only", name="sample_put", arguments={})
        assert host.listed("host_call_read_only")["annotations"]["readOnlyHint"] is True
        assert "readOnlyHint" not in host.listed("host_call").get("annotations", {})

    assert reading["text"] == ""
    assert refused["code"] == "validation_error"
    assert "does not only read" in refused["error"]


@pytest.mark.parametrize(
    ("settings", "scopes"),
    [
        ({"tools": {"put": {"hidden": True}}}, None),
        ({"exclude": ["put"]}, None),
        ({"read_only": True}, None),
        ({}, frozenset({"sample:read"})),
    ],
)
async def test_what_may_not_be_called_is_not_found_nor_described_nor_called(
    hosted: Hosting, settings: dict[str, Any], scopes: frozenset[str] | None
) -> None:
    rules = {**searching(always=["sample_put"]), "packs": {"sample": settings}}
    async with hosted(SAMPLE, rules) as everybody:
        subject = None if scopes is None else "ann"
        host = everybody.seen_by(Caller(subject=subject, scopes=scopes))
        assert host.names() == FOUR
        assert "sample_put" not in await found(host, "put write to a file")
        described = await host.error("host_describe", names=["sample_put"])
        called = await host.error("host_call", name="sample_put", arguments={"path": "/x"})
        absent = await host.error("host_call", name="sample_put", arguments={"path": "/x"})

    assert described["code"] == called["code"] == "not_found"
    assert called["error"].replace("put", "put") == absent["error"]


async def test_errors_questions_and_records_are_those_of_the_tool_that_is_called(
    hosted: Hosting,
) -> None:
    async with hosted(SAMPLE, searching()) as host:
        wrong = await host.error("host_call", name="sample_big", arguments={"size": "x"})
        own = await host.error("host_search")
        itself = await host.error("host_call", name="host_call", arguments={})

    assert wrong["code"] == own["code"] == "validation_error"
    assert "size" in wrong["error"]
    assert "query" in own["error"]
    assert itself["code"] == "not_found"


async def test_a_call_that_the_settings_name_runs_only_once_a_person_has_agreed(
    hosted: Hosting,
) -> None:
    rules = searching(confirm=["sample_e*"])
    async with hosted(SAMPLE, rules) as host:
        agrees = host.seen_by(person=Person())
        refuses = host.seen_by(person=Person(lambda message, schema: {"agree": False}))
        declines = host.seen_by(person=Person(lambda message, schema: None))
        for name, arguments in (
            ("sample_echo", {"text": "hi"}),
            ("host_call", {"name": "sample_echo", "arguments": {"text": "hi"}}),
        ):
            assert (await agrees.value(name, **arguments))["text"] == "hi"
            assert (await refuses.error(name, **arguments))["code"] == "cancelled"
            assert (await declines.error(name, **arguments))["code"] == "cancelled"
        assert (await host.value("sample_big", size=1)) == "x"


async def test_auto_changes_over_when_the_lists_cost_more_than_the_budget() -> None:
    async with hosted(SAMPLE, searching(expose="auto", token_budget=100_000)) as host:
        assert "sample_echo" in host.names()
        assert not set(FOUR) & set(host.names())
    async with hosted(SAMPLE, searching(expose="auto", token_budget=100)) as host:
        assert host.names() == FOUR


PHRASES = {
    "cortex_submit_pr": ["open a pull request for my branch", "push my work for review"],
    "cortex_list_tasks": ["what is assigned to me", "show the team's backlog"],
    "cortex_start_task": ["begin working on a ticket", "create a branch for this issue"],
    "cortex_get_task_status": ["what is the state of this branch", "is the review done yet"],
    "openspec_validate": ["check that the spec is right", "verify a proposed change"],
    "openspec_archive": ["file away a finished change", "merge the deltas into the specs"],
    "openspec_init": ["set up spec-driven development here"],
    "tasky_create_tasks": ["add several tasks to the plan", "make a plan with subtasks"],
    "tasky_search_tasks": ["which tasks are ready to work on", "look for tasks about login"],
    "tasky_edit_tasks": ["bulk change many tasks", "move a task under another parent"],
    "todo_db_add_task": ["put milk on somebody's to-do list", "remember something to do"],
    "todo_db_complete_task": ["tick off an item of the to-do list"],
    "todo_db_delete_task": ["erase an item from the to-do list"],
}


async def test_phrases_of_people_find_the_tool_among_the_first_five(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = str(tmp_path_factory.mktemp("project"))
    roots = {name: {"settings": {"root": folder}} for name in ("openspec", "tasky")}
    async with hosted(ALL, {**searching(), "packs": roots}) as host:
        await host.host.settled()
        wanted = [(name, phrase) for name, phrases in PHRASES.items() for phrase in phrases]
        hits = [(name, await found(host, phrase, limit=5)) for name, phrase in wanted]

    missed = [(name, five) for name, five in hits if name not in five]
    assert len(missed) <= 2, missed
    assert sum(five[:1] == [name] for name, five in hits) / len(hits) >= 0.6


async def test_a_packs_keywords_find_its_tools() -> None:
    tool = {"name": "x_go", "description": "Do it.", "inputSchema": {}}
    other = {"name": "y_go", "description": "Do it.", "inputSchema": {}}
    index = Index([("x", tool), ("y", other)], {"x": (), "y": ("bee keeping",)}.__getitem__)

    assert index.rank("what my bees do") == [1]


def test_keywords_are_those_of_the_distribution_but_for_what_all_have() -> None:
    assert "task graph" in keywords("mcp-host-tasky")
    assert "mcp" not in keywords("mcp-host-tasky")
    assert keywords("there-is-no-such-distribution") == keywords("") == ()


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("PRs", "list_pull_requests"),
        ("tick it off", "complete_step"),
        ("look at https://example.com", "visit"),
        ("getUserProfile", "get_user_profile"),
        ("profils", "get_user_profile"),
    ],
)
def test_short_words_verbs_examples_and_names_are_understood(query: str, wanted: str) -> None:
    names = ["list_pull_requests", "complete_step", "visit", "get_user_profile", "drop_table"]
    arguments = {"visit": {"url": {"type": "string"}}}
    tools = [
        ("pack", {"name": name, "inputSchema": {"properties": arguments.get(name, {})}})
        for name in names
    ]

    assert names[Index(tools).rank(query)[0]] == wanted
