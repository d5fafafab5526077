"""What the lists cost a model, told before it pays."""

import json

import pytest
from core_home import Home

BIG = '''
from mcp_host import hookimpl, tool
@tool(read_only=True)
def say(text: str) -> str:
    """{text}"""
@hookimpl
def mcp_host_tools(): return [say]
@hookimpl
def mcp_host_instructions(): return "Use big for big things."
'''


@pytest.fixture
def wordy(home: Home) -> Home:
    """A machine with one pack whose one tool has a long description."""
    home.add_pack("big", BIG.format(text="word " * 1000))
    home.write("[packs.big]\n")
    home.run("trust", "mcp-host.toml")
    return home


def without_tokenizer(home: Home) -> dict[str, str]:
    """An environment in which the extra `tokens` is not installed."""
    (home.folder / "none").mkdir()
    (home.folder / "none" / "bpe_openai.py").write_text("raise ImportError('not installed')")
    path = home.environment()["PYTHONPATH"]
    return {"PYTHONPATH": f"{home.folder / 'none'}:{path}"}


def test_the_cost_of_each_entry_is_what_a_client_is_sent(wordy: Home) -> None:
    told = wordy.run("tokens", "--json").json
    listed = wordy.run("tools", "big_say", "--json").json

    entries = {entry["name"]: entry for entry in told["entries"] if entry["pack"] == "big"}
    import bpe_openai

    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    exact = len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text))
    assert entries["big_say"]["tokens"] == exact
    assert entries["instructions"]["kind"] == "instructions"
    assert told["tokens"] == sum(entry["tokens"] for entry in told["entries"])
    assert told["by"] == "counted as o200k_base"


def test_without_the_extra_the_cost_is_estimated_and_says_so(wordy: Home) -> None:
    exact = wordy.run("tokens", "--json").json["tokens"]

    told = wordy.run("tokens", "--json", env=without_tokenizer(wordy)).json

    assert told["by"] == "estimated, one for 4 bytes"
    assert 0.7 * exact < told["tokens"] < 1.5 * exact


def test_a_budget_that_is_exceeded_is_warned_of_with_what_tells_more(wordy: Home) -> None:
    wordy.write("[host]\ntoken_budget = 100\n[packs.big]\n")
    wordy.run("trust", "mcp-host.toml")

    doctor = wordy.run("doctor")
    table = wordy.run("tokens")

    assert "over the 100 of [host] token_budget; `mcp-host tokens` says which" in doctor.out
    assert "over the 100 of [host] token_budget" in table.err
    assert doctor.code == 0


def test_one_pack_shows_its_dearest_entries_first_and_an_unknown_one_what_there_is(
    wordy: Home,
) -> None:
    shown = wordy.run("tokens", "big").out
    unknown = wordy.run("tokens", "bog")

    assert shown.index("big_say") < shown.index("instructions")
    assert unknown.code == 1
    assert "there is no pack 'bog'; packs are: big" in unknown.err
