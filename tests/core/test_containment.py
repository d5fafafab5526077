"""No pack can take the host down, and the host says why a thing is missing."""

import json
import subprocess
from importlib import metadata
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

QUICK = "[host]\nstart_timeout = 0.5\n"

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
    "tools_half_a_name": ("declaration_invalid", "5 is no name"),
    "tools_bad_name": ("name_invalid", "'tools_bad_name_not a name'"),
    "tools_twice": ("name_clash", "declares two tools called tools_twice_fine"),
    "tools_no_json": ("declaration_invalid", "fine: what stands in the list is no JSON"),
    "tools_half_character": ("declaration_invalid", "fine: what stands in the list is no JSON"),
    "tools_title": ("declaration_invalid", "fine"),
    "tools_no_service": ("declaration_invalid", "the pack has no mcp_host_open hook"),
    "tools_star": ("declaration_invalid", "*values has no place in a schema"),
    "tools_unknown_sibling": ("declaration_invalid", "{tool:coarse}"),
    "resources_text": ("answer_invalid", "mcp_host_resources returned a str"),
    "resources_no_scheme": ("declaration_invalid", "'no-scheme' has no scheme"),
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
    "opening_hangs": ("open_timeout", "it did not open within 0.5 s"),
    "opening_blocks": ("open_timeout", "it did not open within 0.5 s"),
    "opening_swallows": ("open_timeout", "it did not open within 0.5 s"),
    "opening_comes_back": ("open_failed", "there is no sign yet"),
}
ALL = (
    QUICK
    + "".join(f"[packs.{name}]\nenabled = true\n" for name in FAULTS)
    + "[packs.settings_wrong.settings]\nsizes = 3\n"
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

    assert offered - FAULTS.keys() == {"tools", "opening_is_lost", "opening_never_ends"}
