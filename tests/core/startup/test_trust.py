"""Which settings file is read, and that a stranger's is not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from core_home import PACKS, Home
from mcp_host.errors import SettingsError
from mcp_host.settings.loading import load
from mcp_host.startup.trust import choose

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
    forgotten = home.run("trust", "--forget", str(path), env=env)
    unread = home.run("call", "curious_curious", env=env)

    assert forgotten.out == f"{path} is not trusted any more\n"
    assert (trusted.code, again.code) == (0, 0)
    assert "it enables curious" in trusted.out
    assert works.out == works_again.out == "looked around\n"
    for ignored in (copied, linked, changed, unread):
        assert ignored.code == 1
        assert "is not read: it is not trusted, or changed since it was" in ignored.err
        assert "Unknown tool" in ignored.err


RUNNER = """
from mcp_host import hookimpl, tool
from pydantic import BaseModel, ConfigDict
class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    command: list[str] = []
    greeter: str = ""
    notes: str = ""
    key: str = ""
    file: str = ""
@hookimpl
def mcp_host_settings(): return Settings
@tool
def look() -> str: return "looked"
@hookimpl
def mcp_host_tools(): return [look]
"""
RUNS = """
[packs.runner.settings]
command = ["python", "tools/serve.py", "--plugin=tools/plugin"]
greeter = "tools/greet.sh --loud"
notes = "notes.txt"
key = { file = "secret" }
file = "kept.json"
"""


CODE = ("tools/serve.py", "tools/plugin", "tools/greet.sh")


@pytest.fixture
def runner(home: Home) -> Home:
    """A project whose trusted settings name files of every kind."""
    home.add_pack("runner", RUNNER)
    home.write(RUNS)
    for name in (*CODE, "notes.txt", "secret", "kept.json"):
        home.write("as it was\n", name)
    home.run("trust")
    return home


def test_a_file_that_the_settings_run_is_trusted_as_it_is(runner: Home) -> None:
    def refusal() -> str:
        return runner.run("call", "runner_look").err

    for name in CODE:
        file = runner.project / name
        file.write_text("another\n")
        assert f"is not read: {file}, which it names, changed since it was trusted" in refusal()
        file.write_text("as it was\n")
    file.unlink()
    assert f"is not read: {file}, which it names, changed" in refusal()

    trusted = runner.run("trust")
    works = runner.run("call", "runner_look")
    file.write_text("it came back\n")

    assert [name in trusted.out for name in CODE] == [True, True, False]
    assert works.out == "looked\n"
    assert f"is not read: {file}, which it names, changed" in refusal()


def test_data_and_secrets_that_settings_name_may_change(runner: Home) -> None:
    for name in ("notes.txt", "secret", "kept.json"):
        (runner.project / name).write_text("another text\n")

    assert runner.run("call", "runner_look").out == "looked\n"

    (runner.project / "notes.txt").write_text("#!/bin/sh\nnow it is a program\n")
    assert "notes.txt, which it names, changed" in runner.run("call", "runner_look").err


def test_the_bytes_that_are_parsed_are_those_that_were_trusted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write("[packs]\n")
    for name, value in home.environment().items():
        monkeypatch.setenv(name, value)
    home.run("trust")

    choice = choose(None, {}, folder=home.project)
    assert choice.path == path
    load(path, digest=choice.digest)
    path.write_text(HOSTILE)  # between the look at it and the reading

    with pytest.raises(SettingsError, match="it changed while it was looked at"):
        load(path, digest=choice.digest)


@pytest.mark.torture
def test_a_file_that_is_swapped_all_the_time_is_never_read_untrusted(
    home: Home, mark: Path
) -> None:
    path = home.write("[packs]\n")
    home.run("trust")
    good, bad = home.write("[packs]\n", "good"), home.write(HOSTILE, "bad")
    script = """
import os, shutil, sys
place, *contents = sys.argv[1:]
while True:
    for content in contents:
        shutil.copy(content, place + ".new")
        os.replace(place + ".new", place)
"""
    swapping = subprocess.Popen([sys.executable, "-c", script, str(path), str(good), str(bad)])
    env = {"MARK": str(mark), "KEY_OF_THE_USER": "the-users-own-key"}
    try:
        for _ in range(20):
            for command in (("tools",), ("config", "check"), ("doctor",)):
                home.run(*command, env=env)
    finally:
        swapping.kill()
        swapping.wait()

    assert not mark.exists()


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
    assert [resource["uri"] for resource in resources["resources"]] == [
        "host://packs",
        "host://usage",
    ]


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
