"""No pack can take the host down, and the host says why a thing is missing."""

import asyncio
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from core_home import Hosting
from mcp_host.testing import CallFailed, Hosted, StdioClient

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

QUICK = "[host]\nstart_timeout = 1.5\n"

FAULTS = {
    # pack: code, what the reason says
    "raises_on_import": ("import_failed", "RuntimeError: broken on purpose"),
    "exits_on_import": ("import_failed", "SystemExit: 7"),
    "hangs_on_import": ("load_timeout", "importing misbehaving.hangs_on_import took longer"),
    "not_there": ("import_failed", "No module named 'misbehaving.not_there'"),
    "nobody_offers": ("not_installed", "no installed distribution offers a pack 'nobody_offers'"),
    "no_hooks": ("hook_missing", "answers none of the host's questions"),
    "unmarked": ("hook_invalid", "mcp_host_tools lacks the marker"),
    "misspelt": ("hook_invalid", "mcp_host_tulls is no hook"),
    "async_hook": ("hook_invalid", "mcp_host_tools is `async def`"),
    "unknown_argument": ("hook_invalid", "nonsense"),
    "settings_number": ("answer_invalid", "mcp_host_settings returned an int"),
    "settings_melting": ("answer_invalid", "the settings model Melting is not frozen"),
    "settings_demanding": ("answer_invalid", "Demanding has no default for url"),
    "settings_wrong": ("settings_invalid", "packs.settings_wrong.settings.sizes: unknown key"),
    "tools_number": ("answer_invalid", "mcp_host_tools returned an int"),
    "tools_numbers": ("answer_invalid", "mcp_host_tools returned a list with an int in it"),
    "tools_raise": ("hook_failed", "mcp_host_tools raised LookupError: no tools today"),
    "tools_exit": ("hook_failed", "mcp_host_tools raised SystemExit: 4"),
    "tools_hang": ("load_timeout", "asking for its tools, resources and prompts took longer"),
    "tools_half_a_name": ("declaration_invalid", "name must be a string, not 5"),
    "tools_bad_name": ("name_invalid", "'tools_bad_name_not a name'"),
    "tools_twice": ("name_clash", "declares two tools called tools_twice_fine"),
    "tools_no_json": ("declaration_invalid", "fine: what stands in the list must be JSON"),
    "tools_half_character": ("declaration_invalid", "fine: what stands in the list must be JSON"),
    "tools_title": ("declaration_invalid", "fine"),
    "tools_no_service": ("declaration_invalid", "the pack must have a mcp_host_open hook"),
    "tools_star": ("declaration_invalid", "*values has no place in a schema"),
    "tools_unknown_sibling": ("declaration_invalid", "{tool:coarse}"),
    "tools_timeout": (
        "declaration_invalid",
        "timeout must be a number of seconds above 0, not 'soon'",
    ),
    "tools_wrong_settings": ("settings_invalid", "tools.fin: no such tool; did you mean 'fine'?"),
    "resources_odd_uri": ("declaration_invalid", "must be those of {name} or {+name}"),
    "resources_one_shape": ("name_clash", "two resources called shape://{two}/x"),
    "resources_text": ("answer_invalid", "mcp_host_resources returned a str"),
    "resources_no_scheme": (
        "declaration_invalid",
        "URI must have a scheme, as in 'notes://all', not 'no-scheme'",
    ),
    "prompts_tools": ("answer_invalid", "mcp_host_prompts returned a list with a Tool in it"),
    "instructions_number": ("answer_invalid", "mcp_host_instructions returned an int"),
    "instructions_long": ("answer_invalid", "501 characters; 500 are allowed"),
    "errors_list": ("answer_invalid", "mcp_host_errors returned a list"),
    "errors_unknown_code": ("answer_invalid", "'lost' for KeyError is no error code"),
    "errors_no_code": ("answer_invalid", "['lost'] for KeyError is no error code"),
    "acts_as_root": ("answer_invalid", "mcp_host_acts_as returned 'root'"),
    "checks_number": ("answer_invalid", "mcp_host_checks returned an int"),
    "checks_numbers": ("answer_invalid", "mcp_host_checks returned a list"),
    "open_nothing": ("open_failed", "must return an async context manager"),
    "opening_raises": ("open_failed", "ConnectionError: nobody at home"),
    "opening_exits": ("open_failed", "SystemExit while opening"),
    "opening_hangs": ("open_timeout", "it did not open within 1.5 s"),
    "opening_blocks": ("open_timeout", "it did not open within 1.5 s"),
    "opening_swallows": ("open_timeout", "it did not open within 1.5 s"),
    "opening_comes_back": ("open_failed", "there is no sign yet"),
}
ALL = (
    QUICK
    + "".join(f"[packs.{name}]\nenabled = true\n" for name in FAULTS)
    + "[packs.settings_wrong.settings]\nsizes = 3\n"
    + "[packs.tools_wrong_settings.tools.fin]\ntimeout = 1\n"
    + "[packs.tools]\nenabled = true\n[packs.sample]\nenabled = true\n"
)


def test_doctor_says_of_every_broken_pack_what_is_wrong_and_what_to_do(machine: "Machine") -> None:
    machine.settings(ALL)

    done = subprocess.run(
        machine.command("doctor", "--json"),
        env=machine.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    told = {pack["name"]: pack for pack in json.loads(done.stdout)["packs"]}
    assert done.returncode == 1
    assert {name: told[name]["code"] for name in FAULTS} == {n: c for n, (c, _) in FAULTS.items()}
    assert [n for n, (_, words) in FAULTS.items() if words not in told[n]["reason"]] == []
    assert [n for n in FAULTS if not told[n].get("remedy")] == []
    assert (told["sample"]["state"], told["tools"]["state"]) == ("ready", "ready")


def test_every_broken_pack_of_the_folder_is_in_the_table() -> None:
    (points,) = metadata.distributions(name="misbehaving")

    offered = {point.name for point in points.entry_points}

    others = {"is_lost", "never_ends", "reads_a_fifo", "ends_all"}
    assert offered - FAULTS.keys() == {
        *("tools", "slow_import", "process", "dying"),
        *("crashes_on_import", "holds_on_import"),
        *(f"opening_{o}" for o in others),
    }


CLIENTS_VIEW = {
    # a tool of the pack `tools`: the code its caller gets, or None where the call succeeds
    "exits": "internal_error",
    "exits_async": "internal_error",
    "melts": "internal_error",
    "melts_async": "internal_error",
    "stops": "internal_error",
    "cancels_itself": "internal_error",
    "group": "internal_error",
    "says": "internal_error",
    "wrong_type": "internal_error",
    "circle": "internal_error",
    "exits_checking": "internal_error",
    "untold": "internal_error",
    "odd": "conflict",
    "blocks": "timeout",
    "spawns": None,
    "reads_input": None,
    "prints": None,
}


async def states_of(client: StdioClient) -> set[str]:
    """The states of all packs that are at fault."""
    (packs,) = await client.read("host://packs")
    return {pack["state"] for pack in json.loads(packs["text"]) if pack["name"] in FAULTS}


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_beside_every_broken_pack_the_others_answer(
    machine: "Machine", protocol: str
) -> None:
    async with machine.serve(ALL, protocol=protocol) as client:
        assert await client.value("sample_echo", text="hello") == {
            "text": "hello",
            "number": None,
            "data": None,
        }

        async def outcome(tool: str) -> str | None:
            try:
                arguments = {"value": "x"} if tool == "exits_checking" else {}
                await client.value(f"tools_{tool}", **arguments)
            except CallFailed as failed:
                assert "the text of the exception" not in json.dumps(failed.envelope)
                return failed.code
            return None

        outcomes = await asyncio.gather(*(outcome(tool) for tool in CLIENTS_VIEW))

        assert dict(zip(CLIENTS_VIEW, outcomes, strict=True)) == CLIENTS_VIEW
        assert await client.value("tools_reads_input") == "''"
        assert await client.value("sample_echo", text="still") != {}
        for method, params in (
            ("resources/read", {"uri": "bad://exits"}),
            ("prompts/get", {"name": "tools_exits_prompt"}),
        ):
            answer = await client.raw_request(method, params)
            assert answer["error"]["data"]["code"] == "internal_error"
        async with asyncio.timeout(60):  # packs that nobody calls open one after the other
            while (states := await states_of(client)) & {"loading", "opening"}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert states == {"failed"}
        assert await client.end_input() == 0
        for said in ("imported", "opened"):
            assert f"printed while it was {said}" in client.stderr
        for said in ("printed by a tool", "to the old stdout", "by a child", "by a shell"):
            assert said in client.stderr
        assert "written by a tool" in client.stderr


async def test_an_error_that_is_hard_to_write_is_told_as_far_as_it_can_be(hosted: Hosting) -> None:
    async with hosted({"tools": "misbehaving.tools"}) as host:
        envelope = await host.error("tools_odd")

        assert envelope["error"] == "no file of this name: caf?"
        assert envelope["details"]["reason"] == "odd"
        assert envelope["suggestions"] == ["b'bytes'", "7"]
        assert (envelope["code"], envelope["retryable"]) == ("conflict", True)


async def test_code_of_a_pack_that_checks_arguments_runs_in_the_packs_threads(
    hosted: Hosting,
) -> None:
    async with hosted({"tools": "misbehaving.tools"}) as host:
        where = await host.value("tools_checked_in", thread="")

        assert where == "pack-tools-sync"


async def test_a_call_to_a_failed_pack_hears_why_and_what_to_do(hosted: Hosting) -> None:
    packs = {
        "broken": "misbehaving.raises_on_import",
        "away": "misbehaving.opening:raises",
        "sample": "sample_pack.plugin",
    }
    async with hosted(packs) as host:
        for tool, reason, is_retried in (
            ("broken_any", "import_failed", False),
            ("away_service", "open_failed", True),
        ):
            envelope = await host.error(tool)

            assert (envelope["code"], envelope["retryable"]) == ("unavailable", is_retried)
            assert envelope["details"] == {"reason": reason}
            assert envelope["suggestions"]
        assert not [name for name in host.names() if name.startswith(("broken", "away"))]


async def test_a_pack_that_opens_slowly_is_listed_at_once_and_its_calls_wait_for_it(
    tmp_path: Path, hosted: Hosting
) -> None:
    os.mkfifo(tmp_path / "sign")
    tables = {"packs": {"slow": {"settings": {"sign": str(tmp_path / "sign")}}}}
    slow = {"slow": "misbehaving.opening:reads_a_fifo"}
    async with hosted(slow, tables, root=tmp_path, settled=False) as host:
        call = asyncio.create_task(host.value("slow_service"))
        while host.names() != ["slow_service"]:  # a process takes a moment to declare it
            await host.next_change(timeout=60)
        assert host.host.packs["slow"].condition.state == "opening"

        await asyncio.to_thread((tmp_path / "sign").write_text, "open")

        assert await call == "open"


async def test_a_call_to_a_pack_that_is_still_imported_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosted: Hosting
) -> None:
    monkeypatch.delitem(sys.modules, "misbehaving.slow_import", raising=False)
    os.mkfifo(tmp_path / "sign")
    slow = {"slow": "misbehaving.slow_import", "sample": "sample_pack.plugin"}
    monkeypatch.setenv("MISBEHAVING_SIGN", str(tmp_path / "sign"))
    async with hosted(slow, settled=False) as host:
        calls = [
            asyncio.create_task(each)
            for each in (host.value("slow_late"), host.prompt("slow_ask"), host.text("slow://late"))
        ]
        assert await host.value("sample_big", size=1) == "x"
        assert "slow_late" not in host.names()

        await asyncio.to_thread((tmp_path / "sign").write_text, "go on")

        assert await asyncio.gather(*calls) == ["late", ["late"], "late"]
        assert "slow_late" in host.names()


@pytest.mark.parametrize(
    ("tables", "alone"), [({"packs": {"slow": {"prefix": ""}}}, False), ({}, True)]
)
async def test_a_name_without_prefix_waits_for_the_pack_that_may_have_it(
    tables: dict[str, Any],
    alone: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hosted: Hosting,
) -> None:
    monkeypatch.delitem(sys.modules, "misbehaving.slow_import", raising=False)
    os.mkfifo(tmp_path / "sign")
    monkeypatch.setenv("MISBEHAVING_SIGN", str(tmp_path / "sign"))
    slow = {"slow": "misbehaving.slow_import"}
    async with hosted(slow, tables, alone=alone, settled=False) as host:
        calls = asyncio.gather(host.value("late"), host.prompt("ask"))

        await asyncio.to_thread((tmp_path / "sign").write_text, "go on")

        assert await calls == ["late", ["late"]]


async def test_the_lists_are_in_the_order_of_the_settings_whoever_was_imported_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosted: Hosting
) -> None:
    monkeypatch.delitem(sys.modules, "misbehaving.slow_import", raising=False)
    os.mkfifo(tmp_path / "sign")
    monkeypatch.setenv("MISBEHAVING_SIGN", str(tmp_path / "sign"))
    packs = {"slow": "misbehaving.slow_import", "sample": "sample_pack.plugin"}
    async with hosted(packs, settled=False) as host:
        assert await host.value("sample_big", size=1) == "x"

        await asyncio.to_thread((tmp_path / "sign").write_text, "go on")

        assert await host.value("slow_late") == "late"
        assert host.names()[:2] == ["slow_late", "sample_echo"]


async def test_who_watches_the_packs_hears_of_one_that_fails_late(hosted: Hosting) -> None:
    quick = {"host": {"start_timeout": 0.2}}
    async with hosted({"hangs": "misbehaving.hangs_on_import"}, quick, settled=False) as host:
        while json.loads(await host.text("host://packs"))[0]["state"] != "failed":
            await host.next_change("host://packs")


async def test_a_pack_that_could_not_be_opened_is_tried_again_until_it_can(
    tmp_path: Path, hosted: Hosting
) -> None:
    tables = {
        "host": {"retry_after": 0.05},
        "packs": {"late": {"settings": {"sign": str(tmp_path / "sign")}}},
    }
    async with hosted({"late": "misbehaving.opening:comes_back"}, tables, root=tmp_path) as host:
        envelope = await host.error("late_service")
        assert envelope["suggestions"] == ["make the sign; it is tried again in 0.05 s"]
        assert "late_service" not in host.names()

        (tmp_path / "sign").write_text("a sign")
        await until(host, "late", "ready")

        assert host.names() == ["late_service"]
        assert await host.value("late_service") == "a sign"


async def test_a_pack_whose_background_task_dies_is_failed_and_opened_again(
    tmp_path: Path, hosted: Hosting
) -> None:
    tables = {
        "host": {"retry_after": 0.05, "grace": 0.1},
        "packs": {"lost": {"settings": {"sign": str(tmp_path / "sign")}}},
    }
    async with hosted({"lost": "misbehaving.opening:is_lost"}, tables, root=tmp_path) as host:
        assert await host.value("lost_service") == "there"

        (tmp_path / "sign").touch()
        await until(host, "lost", "failed")

        condition = host.host.packs["lost"].condition
        assert (condition.state, condition.code) == ("failed", "service_lost")
        assert "the background task died" in condition.reason
        await until(host, "lost", "ready")
        assert await host.value("lost_service") == "there"


async def until(host: Hosted, pack: str, state: str) -> None:
    """Wait for changes until the pack is in this state."""
    while host.host.packs[pack].condition.state != state:
        await host.next_change()


@pytest.mark.parametrize(
    ("pack", "says", "starts"),
    [
        ("raises_on_import", "RuntimeError: broken on purpose", 1),
        ("hangs_on_import", "importing misbehaving.hangs_on_import took longer than 1.5 s", 1),
        ("opening_raises", "ConnectionError: nobody at home", 2),  # then there is a saved catalogue
    ],
)
async def test_a_required_pack_that_fails_ends_the_host_with_3_and_one_clear_line(
    machine: "Machine", pack: str, says: str, starts: int
) -> None:
    needed = f"{QUICK}[packs.{pack}]\nrequired = true\n"
    for _ in range(starts):
        async with machine.serve(needed, handshake=False) as client:
            code = await client.end_input()

            (line,) = [line for line in client.stderr.splitlines() if line.startswith("error: ")]
            assert code == 3
            assert line.startswith(f"error: pack {pack} is failed: ")
            assert says in line
            assert "tried again" not in line


async def test_a_pack_that_does_not_close_holds_the_end_for_the_grace_period_only(
    machine: "Machine",
) -> None:
    settings = "[host]\ngrace = 0.2\n[packs.opening_never_ends]\n[packs.sample]\n"
    async with machine.serve(settings) as client:
        assert await client.value("opening_never_ends_service") == "there"

        async with asyncio.timeout(15):
            assert await client.end_input() == 0
        assert "pack opening_never_ends did not close within 0.2 s" in client.stderr
