"""Which settings file is read, and that a stranger's is not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from core_home import PACKS, Home

CURIOUS = """
import os, pathlib
pathlib.Path(os.environ["MARK"]).write_text("imported")
from mcp_host import hookimpl, tool
from pydantic import BaseModel, ConfigDict
class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    key: str = ""
@hookimpl
def mcp_host_settings(): return Settings
@tool
def curious() -> str: return "looked around"
@hookimpl
def mcp_host_tools(): return [curious]
"""
HOSTILE = '[packs.curious.settings]\nkey = { env = "KEY_OF_THE_USER" }\n'


@pytest.fixture
def mark(home: Home) -> Path:
    """Written by a pack that should not have been imported."""
    home.add_pack("curious", CURIOUS)
    return home.folder / "mark"


def test_a_cloned_folder_with_a_hostile_file_starts_nothing_and_reads_no_secret(
    home: Home, mark: Path
) -> None:
    path = home.write(HOSTILE)
    env = {"MARK": str(mark), "KEY_OF_THE_USER": "the-users-own-key"}
    commands = (
        ("serve",),
        ("packs", "--json"),
        ("tools", "--json"),
        ("doctor", "--json"),
        ("call", "curious_curious"),
        ("config", "show", "--resolved"),
        ("config", "check"),
        ("enable", "curious"),
    )

    ended = [home.run(*command, env=env) for command in commands]

    assert not mark.exists()
    assert path.read_text() == HOSTILE
    for one in ended:
        assert "the-users-own-key" not in one.out + one.err
        (line,) = [line for line in one.err.splitlines() if "trust" in line]
        assert f"mcp-host trust {path}" in line
    assert [one.code for one in ended] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_file_is_trusted_by_its_path_and_content_until_it_changes(home: Home, mark: Path) -> None:
    path = home.write(HOSTILE)
    env = {"MARK": str(mark), "KEY_OF_THE_USER": "the-users-own-key"}
    elsewhere = home.folder / "elsewhere"
    elsewhere.mkdir()

    trusted = home.run("trust", env=env)
    works = home.run("call", "curious_curious", env=env)
    shutil.copy(path, elsewhere)
    copied = home.run("call", "curious_curious", env=env, cwd=elsewhere)
    (elsewhere / path.name).unlink()
    (elsewhere / path.name).symlink_to(path)
    linked = home.run("call", "curious_curious", env=env, cwd=elsewhere)
    path.write_text(HOSTILE + "# a word more\n")
    changed = home.run("call", "curious_curious", env=env)
    again = home.run("trust", str(path), env=env)
    works_again = home.run("call", "curious_curious", env=env)

    assert (trusted.code, again.code) == (0, 0)
    assert "it enables curious" in trusted.out
    assert works.out == works_again.out == "looked around\n"
    for ignored in (copied, linked, changed):
        assert ignored.code == 1
        assert "is not read: it is not trusted, or changed since it was" in ignored.err
        assert "Unknown tool" in ignored.err


async def test_what_a_trusted_start_has_saved_is_not_shown_once_the_file_changed(
    home: Home, mark: Path
) -> None:
    path = home.write(HOSTILE)
    env = {"MARK": str(mark), "KEY_OF_THE_USER": "the-users-own-key"}
    home.run("trust", env=env)
    async with home.stdio(env=env) as client:
        before = await client.tools()
        await client.call("curious_curious")
        await client.end_input()
    path.write_text(HOSTILE + "# a word more\n")

    async with home.stdio(env=env) as client:
        after = await client.tools()
        resources = await client.request("resources/list")

    assert [tool["name"] for tool in before] == ["curious_curious"]
    assert after == []
    assert [resource["uri"] for resource in resources["resources"]] == ["host://packs"]


def test_enable_and_disable_keep_the_comments_of_a_file_and_its_trust(home: Home) -> None:
    text = (
        "# mine\n[packs.desk] # the desk\n# not now\nenabled = false # later\n"
        '[packs.desk.settings]\nmood = "calm" # always\n'
    )
    path = home.write(text)
    home.run("trust")

    enabled = home.run("enable", "desk")
    on = path.read_text()
    works = home.run("call", "desk_greet", "name=Ann")
    again = home.run("enable", "desk")
    disabled = home.run("disable", "desk")

    assert (enabled.code, again.code, disabled.code) == (0, 0, 0)
    assert on == text.replace("enabled = false", "enabled = true")
    assert works.out == "Hello Ann.\n"
    assert path.read_text() == text
    assert home.run("config", "show").out == text


def test_enable_adds_a_pack_below_what_is_there_and_names_installed_ones_when_it_is_unknown(
    home: Home,
) -> None:
    home.packs.append(PACKS / "sample")
    path = home.write("# mine\n[packs]\ndesk = { enabled = true } # inline\n", "other.toml")

    added = home.run("enable", "sample", "--config", "other.toml")
    unknown = home.run("enable", "dsek", "--config", "other.toml")
    missing = home.run("disable", "tasky", "--config", "other.toml")
    tools = home.run("tools", "--json", "--config", "other.toml")

    assert (added.code, unknown.code, missing.code) == (0, 1, 1)
    assert path.read_text().startswith("# mine\n[packs]\ndesk = { enabled = true } # inline\n")
    assert {tool["name"].split("_")[0] for tool in tools.json} == {"desk", "sample"}
    assert "no pack 'dsek' is installed" in unknown.err
    assert "desk" in unknown.err.partition("installed are")[2]
    assert "has no [packs.tasky]" in missing.err


def test_editing_a_file_that_nobody_trusts_does_not_make_it_trusted(home: Home) -> None:
    home.write("[packs.desk]\nenabled = false\n")

    edited = home.run("enable", "desk", "--config", "mcp-host.toml")

    assert edited.code == 0
    assert "not trusted" in home.run("tools").err


def test_the_option_comes_before_the_variable_the_folder_and_the_users_own_file(
    home: Home,
) -> None:
    of_user = home.folder / "config/mcp-host/mcp-host.toml"
    of_user.parent.mkdir(parents=True)
    of_user.write_text("[host]\ntimeout = 4\n")
    by_variable = home.write("[host]\ntimeout = 2\n", "by-variable.toml")
    home.write("[host]\ntimeout = 1\n", "by-option.toml")

    def timeout(*options: str, **env: str) -> int:
        return home.run("config", "show", "--json", *options, env=env).json["host"]["timeout"]

    variable = {"MCP_HOST_CONFIG": str(by_variable)}
    assert timeout() == 4
    home.write("[host]\ntimeout = 3\n")
    assert timeout() == 4
    home.run("trust")
    assert timeout() == 3
    assert timeout(**variable) == 2
    assert timeout("--config", "by-option.toml", **variable) == 1


def test_a_working_directory_that_is_gone_is_said_in_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for command in ("serve", "tools"):
        gone.mkdir(exist_ok=True)
        script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m mcp_host {command}"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)

        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "error: the working directory is not there any more; start this in another"
        ]
