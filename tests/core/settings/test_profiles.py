"""A profile: what one client is served of the settings."""

import json
from typing import Any

import pytest
from core_home import Home
from mcp_host.errors import SettingsError
from mcp_host.settings.loading import Settings, parse
from mcp_host.settings.overrides import profiled

FILE: dict[str, Any] = {
    "packs": {"desk": {}, "other": {"read_only": True}, "off": {"enabled": False}},
    "profiles": {"one": {"packs": ["desk", "off"]}, "reader": {"read_only": True}},
}


def of(name: str) -> Settings:
    return profiled(parse(FILE, None), name)


def test_a_profile_leaves_the_packs_that_it_names_and_are_enabled() -> None:
    assert [name for name, table in of("one").packs.items() if table.enabled] == ["desk"]


def test_a_read_only_profile_makes_every_pack_so_and_another_makes_none_writable() -> None:
    assert all(table.read_only for table in of("reader").packs.values())
    assert of("one").packs["other"].read_only


@pytest.mark.parametrize(
    ("name", "said"),
    [("ones", "profiles.ones: unknown key; did you mean 'one'?")],
)
def test_an_unknown_profile_is_refused_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said.replace("?", r"\?")):
        of(name)


def test_a_profile_must_name_packs_of_the_settings() -> None:
    settings = parse({"packs": {"desk": {}}, "profiles": {"x": {"packs": ["dest"]}}}, None)

    with pytest.raises(SettingsError, match="did you mean 'desk'"):
        profiled(settings, "x")


def test_serve_shows_a_client_what_its_profile_leaves(home: Home) -> None:
    home.write("[packs.desk]\nenabled = true\n[profiles.reader]\nread_only = true\n")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}

    def listed(*more: str) -> list[dict[str, Any]]:
        done = home.run("serve", "--config", "mcp-host.toml", *more, stdin=json.dumps(asked) + "\n")
        tools: list[dict[str, Any]] = json.loads(done.out)["result"]["tools"]
        return tools

    for _ in range(2):  # from what is loaded, and from what was saved
        every, some = listed(), listed("--profile", "reader")
        assert 0 < len(some) < len(every)
        assert all(tool["annotations"]["readOnlyHint"] for tool in some)
