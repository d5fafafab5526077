"""Names of mounted servers' entries: none is lost where two would be one, or clients refuse one."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import hosted
from mcp_host_mount.naming import named, public

LITTLE = Path(__file__).with_name("little_server.py")
TAKEN_BY_CLIENTS = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONG = "a_tool_whose_name_is_longer_than_any_client_takes_it_" * 2
ODD = ["run", "little_run", "little-run", "read/it", "read it", "検索", "削除", LONG, f"{LONG}2"]


@pytest.mark.parametrize("prefix", ["little", "", "p" * 32])
def test_every_name_is_one_that_clients_take_and_none_elses(prefix: str) -> None:
    names = [*ODD, "read_it", f"{prefix}_" + "x" * (63 - len(prefix)), "x" * 64]

    here = named(names, prefix)
    seen = [public(name, prefix) for name in here.values()]

    assert here.keys() == set(names)
    assert all(TAKEN_BY_CLIENTS.fullmatch(name) for name in seen)
    assert len(set(seen)) == len(names)
    assert named(reversed(names), prefix) == here
    assert here["read_it"] == "read_it"  # what clients take stays as it is
    assert here[names[-2]] == names[-2]


def mounted(state: Path, tools: list[str], **more: Any) -> dict[str, Any]:
    state.mkdir()
    env = {"STATE": str(state), "TOOLS": json.dumps(tools)}
    return {"command": [sys.executable, str(LITTLE)], "env": env, **more}


async def test_what_would_have_one_name_is_reached_or_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    packs = {
        "little": mounted(tmp_path / "1", [*ODD, "run"]),
        "other": mounted(tmp_path / "2", ["twin_run"]),
        "other_twin": mounted(tmp_path / "3", ["run"]),
    }
    async with hosted({}, {"packs": packs}, root=tmp_path) as host:
        conditions = {name: host.host.packs[name].condition for name in packs}
        here = named(ODD, "little")
        called = {own: await host.value(public(here[own], "little")) for own in ODD}
        found = await host.host.running["little"].worker.check()
        notes = [each.problem for each in found]
        warnings = " ".join(host.host.inventory.warnings)
        seen = [*host.names("resources"), *host.names("resourceTemplates")]
    (refused,) = [each for each in conditions.values() if each.state == "failed"]

    assert called == {own: f"{own} done" for own in ODD}
    assert "the tool 'run' is withheld: it is the second tool of this name" in notes
    assert any(note.startswith("the tool 'run' is called run_") for note in notes)
    assert conditions["little"].state == "ready"
    assert refused.code == "name_clash"  # of the two, that which was slower
    assert "both have a tool other_twin_run" in refused.reason
    assert "set another prefix in [packs.other" in refused.remedy
    assert warnings.count("'little://one' is withheld: ") == 1
    assert seen.count("little://one") == 1
