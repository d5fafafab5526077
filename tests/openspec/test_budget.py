"""No tool answers more than a model can take unasked, and nothing is out of reach."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import CallFailed, StdioClient, stdio_client

pytestmark = pytest.mark.anyio

MOST = 20_000
SPECS = 380
TEXTS = {
    "proposal": "## Why\n" + "Because „it“ must be.\n" * 2000 + "\n## What Changes\n- all\n",
    "tasks": "".join(f"- [x] 1.{n} Do the {n}. thing\n" for n in range(1, 1500)),
    "design": "# Design\n" + '\\ and \t and " are long as JSON\n' * 1500,
}


def write(project: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, "utf-8")
    return project


def spec(number: int, requirements: int = 2) -> str:
    blocks = "\n".join(
        f"### Requirement: Rule {number}.{n}\nThe system SHALL obey rule {number}.{n}.\n\n"
        f"#### Scenario: Case {number}.{n}\n- **WHEN** it is {n}\n- **THEN** it is obeyed\n"
        for n in range(requirements)
    )
    return f"# s\n\n## Purpose\nToo short.\n\n## Requirements\n\n{blocks}"


def delta(number: int) -> str:
    return (
        f"## ADDED Requirements\n\n### Requirement: New {number}\nIt SHALL be new. {'x' * 300}\n\n"
        "#### Scenario: s\n- **WHEN** a\n- **THEN** b\n"
    )


@pytest.fixture(scope="module")
async def large(
    server: list[str], own_folders: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[StdioClient, Path]]:
    """A server of a large tree that nobody writes to."""
    project = write(
        tmp_path_factory.mktemp("large"),
        {
            **{f"openspec/specs/s{n:03}/spec.md": spec(n) for n in range(SPECS)},
            "openspec/specs/whole/spec.md": spec(9000, 400),
            **{f"openspec/changes/big/{name}.md": text for name, text in TEXTS.items()},
            **{f"openspec/changes/big/specs/s{n:03}/spec.md": delta(n) for n in range(60)},
            **{
                f"openspec/changes/small-{n:03}/proposal.md": f"# Change: Title {n}\n"
                for n in range(200)
            },
        },
    )
    async with stdio_client(server, cwd=project) as client:
        yield client, project


async def answer(client: StdioClient, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool answers, which must be within the budget."""
    result = await client.call(name, **arguments)
    assert len(result["content"][0]["text"]) <= MOST, (name, arguments)
    structured: dict[str, Any] = result["structuredContent"]
    return structured


async def pages(
    client: StdioClient, key: str, name: str, /, **arguments: Any
) -> list[dict[str, Any]]:
    """All rows of a list, page by page."""
    rows: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await answer(client, name, **arguments, **cursor)
        rows += page[key]
        if "next_cursor" not in page:
            return rows
        assert page["truncated"]
        cursor = {"cursor": page["next_cursor"]}


async def test_lists_come_in_pages_that_hold_every_row_once(
    large: tuple[StdioClient, Path],
) -> None:
    client, _ = large

    changes = await pages(client, "changes", "list", long=True)
    specs = await pages(client, "specs", "list", specs=True, long=True, limit=100)

    assert sorted(row["id"] for row in changes) == ["big", *(f"small-{n:03}" for n in range(200))]
    assert [row["capability"] for row in specs] == [*(f"s{n:03}" for n in range(SPECS)), "whole"]


async def test_validation_tells_findings_first_and_counts_them_all(
    large: tuple[StdioClient, Path],
) -> None:
    client, _ = large

    first = await answer(client, "validate")

    assert not first["valid"]
    assert first["counts"]["errors"] == 200
    assert len(first["errors"]) > 40
    assert not first["warnings"] and not first["items"]
    assert len(await pages(client, "errors", "validate")) == 200
    assert first["counts"]["warnings"] == SPECS + 1
    assert first["summary"]["totals"]["items"] == SPECS + 1 + 201
    warnings = await pages(client, "warnings", "validate", only=["warnings"])
    assert {warning["rule"] for warning in warnings} == {"S9"}
    assert len({warning["item"] for warning in warnings}) == SPECS + 1
    items = await pages(client, "items", "validate", only=["items"], limit=150)
    assert len(items) == SPECS + 1 + 201


async def test_a_large_change_is_shown_with_a_share_of_each_text_and_the_way_to_the_rest(
    large: tuple[StdioClient, Path],
) -> None:
    client, project = large

    shown = await answer(client, "show", name="big")

    assert shown["truncated"]
    assert all(shown[name][:40] == text[:40] for name, text in TEXTS.items())
    assert shown["deltaCount"] == 60
    assert shown["progress"]["total"] == 1499
    for name, text in TEXTS.items():
        (way,) = (one for one in shown["more"] if one["part"] == name)
        kept = shown[name][: int(way["cursor"])]
        assert text.startswith(kept)
        rest = await whole(client, name="big", part=name, cursor=way["cursor"])
        assert kept + rest == text
    one = await answer(client, "show", name="big", part="specs/s007")
    assert one["content"] == (project / "openspec/changes/big/specs/s007/spec.md").read_text(
        "utf-8"
    )
    assert len(await pages(client, "deltas", "show", name="big", part="deltas")) == 60


async def whole(client: StdioClient, **arguments: Any) -> str:
    """A text, page by page."""
    text = ""
    while True:
        page = await answer(client, "show", **arguments)
        text += page["content"]
        if "next_cursor" not in page:
            return text
        arguments["cursor"] = page["next_cursor"]


async def test_a_large_spec_is_shown_alike_and_each_requirement_alone(
    large: tuple[StdioClient, Path],
) -> None:
    client, project = large
    text = (project / "openspec/specs/whole/spec.md").read_text("utf-8")

    shown = await answer(client, "show", name="whole", type="spec")

    assert (shown["truncated"], shown["requirementCount"]) == (True, 400)
    assert await whole(client, name="whole", type="spec", part="content") == text
    rows = await pages(
        client, "requirements", "show", name="whole", type="spec", part="requirements"
    )
    assert len(rows) == 400
    one = await answer(client, "show", name="whole", type="spec", part="Rule 9000.7")
    assert one["content"] in text
    with pytest.raises(CallFailed, match="Part 'Rule 1' not found"):
        await client.value("show", name="whole", type="spec", part="Rule 1")


async def test_nothing_is_said_twice_unless_it_is_asked_for_as_the_command_prints_it(
    large: tuple[StdioClient, Path],
) -> None:
    client, _ = large

    ours = await answer(client, "show", name="s001", type="spec")
    theirs = await client.value("show", name="s001", type="spec", view="cli")

    assert json.dumps(ours).count("SHALL obey rule 1.0") == 1
    assert theirs["requirements"][0]["text"] == "The system SHALL obey rule 1.0."
    assert theirs.keys() == ours.keys()


async def test_a_preview_cuts_its_diffs_and_gives_each_in_pages(
    large: tuple[StdioClient, Path],
) -> None:
    client, _ = large

    preview = await answer(client, "archive", name="big", dryRun=True)

    assert preview["truncated"]
    assert len(preview["operations"]) == 60
    page = await answer(client, "archive", name="big", dryRun=True, part="s003")
    assert "+### Requirement: New 3\n" in page["diff"]


async def test_an_unknown_cursor_is_refused_in_words(large: tuple[StdioClient, Path]) -> None:
    client, _ = large

    with pytest.raises(CallFailed, match="cursor must be one that an answer gave"):
        await client.value("list", cursor="abc")


async def test_find_answers_in_few_words_what_is_required_already(
    large: tuple[StdioClient, Path],
) -> None:
    client, _ = large

    found = await client.call("list", find="Is rule 123.1 obeyed already?")

    assert len(found["content"][0]["text"]) <= 4000
    matches = found["structuredContent"]["matches"]
    assert (matches[0]["capability"], matches[0]["requirement"]) == ("s123", "Rule 123.1")
    with pytest.raises(CallFailed, match="find must hold a word"):
        await client.value("list", find=" ?!")
    nothing = await client.value("list", find="zebra")
    assert (nothing["count"], nothing["matches"]) == (0, [])


async def test_find_sees_an_edit_and_a_spec_that_goes(server: list[str], shop: Path) -> None:
    spec_file = shop / "openspec/specs/auth/spec.md"
    async with stdio_client(server, cwd=shop) as client:
        assert (await client.value("list", find="zebra crossing"))["count"] == 0
        spec_file.write_text(spec_file.read_text().replace("on request", "at a zebra crossing"))
        (match,) = (await client.value("list", find="zebra crossings"))["matches"]
        assert (match["capability"], match["requirement"]) == ("auth", "Logout")
        spec_file.unlink()
        assert (await client.value("list", find="zebra crossing"))["count"] == 0


async def test_what_a_model_pays_for_the_list_of_tools_is_little(
    large: tuple[StdioClient, Path],
) -> None:
    """Four characters are about a token; the list stays under 2,000 of those."""
    client, _ = large

    assert len(json.dumps(await client.tools())) < 4 * 2000
