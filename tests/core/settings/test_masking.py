"""What a pack says of its secrets is masked, and what it says to a terminal is not executed."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from core_home import Home

SECRET = "a-key-of-many-characters"
LEAKY = """
import sys
from mcp_host import Context, Finding, hookimpl, prompt, resource, tool
from pydantic import BaseModel, ConfigDict
class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    key: str = ""
    uri: str = "leaky://door"
@hookimpl
def mcp_host_settings(): return Settings
@hookimpl
def mcp_host_instructions(settings): return f"Say {settings.key} to the door."
@hookimpl
def mcp_host_tools(settings):
    print(f"tools of {settings.key}")
    print(settings.key[:7], end="")
    print(settings.key[7:])
    print(f"error of {settings.key}", file=sys.stderr)
    @tool(description=f"Opens with {settings.key}.")
    def open(context: Context, door: str = settings.key) -> str:
        context.progress(1, 2, f"turning {settings.key}")
        context.log("warning", {"turned": [settings.key]})
        return "open"
    return [open]
@hookimpl
def mcp_host_resources(settings):
    @resource(settings.uri, description=f"Opens with {settings.key}.")
    def door() -> str: return "a door"
    return [door]
@hookimpl
def mcp_host_prompts(settings):
    @prompt(description=f"Opens with {settings.key}.")
    def knock() -> str: return "knock"
    return [knock]
"""
KEY = '[packs.leaky.settings]\nkey = { env = "KEY" }\n'


def saved(home: Home) -> str:
    """What the saved catalogues hold."""
    return "".join(file.read_text() for file in home.folder.glob("cache/**/*.json"))


async def test_a_secret_is_masked_in_everything_that_a_pack_says_around_its_answers(
    home: Home,
) -> None:
    home.add_pack("leaky", LEAKY)
    home.write(KEY)

    serving = home.stdio("--config", "mcp-host.toml", env={"KEY": SECRET}, handshake=False)
    async with serving as client:
        await client.handshake()
        greeting = client.initialized
        lists = {
            what: await client.request(f"{what}/list") for what in ("tools", "resources", "prompts")
        }
        asked = {"name": "leaky_open", "arguments": {}, "_meta": {"progressToken": 1}}
        answer = await client.request("tools/call", asked)
        await client.notified("notifications/message")
        await client.notified("notifications/progress")
        await client.end_input()

    assert answer["content"][0]["text"] == "open"
    for told in (lists, client.notifications, greeting, client.stderr, saved(home)):
        text = told if isinstance(told, str) else json.dumps(told)
        assert SECRET not in text
        assert "********" in text
    for printed in ("tools of ********", "error of ********", "\n********\n"):
        assert printed in client.stderr


async def test_lists_that_a_secret_is_the_name_of_are_not_saved(home: Home) -> None:
    home.add_pack("leaky", LEAKY)
    home.write(f'{KEY}uri = {{ env = "URI" }}\n')
    env = {"KEY": "", "URI": f"leaky://{SECRET}/door"}

    async with home.stdio("--config", "mcp-host.toml", env=env) as client:
        listed = await client.request("resources/list")
        await client.end_input()

    assert env["URI"] in [resource["uri"] for resource in listed["resources"]]
    assert saved(home) == ""


def test_the_lines_of_a_longer_secret_are_masked_each(home: Home) -> None:
    home.add_pack("leaky", LEAKY)
    home.write(KEY)
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----"

    done = home.run("tools", "--config", "mcp-host.toml", env={"KEY": key})

    assert "tools of ********" in done.err
    assert "MIIEv" not in done.out + done.err


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter; a test's own is for its owner alone."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    ("mode", "folder", "warns"),
    [(0o644, 0o755, True), (0o640, 0o750, True), (0o600, 0o755, False), (0o644, 0o700, False)],
)
async def test_a_file_of_a_secret_that_others_may_read_is_warned_of(
    home: Home, public: Path, mode: int, folder: int, warns: bool
) -> None:
    file = public / "secrets" / "key"
    file.parent.mkdir()
    file.write_text(SECRET)
    file.chmod(mode)
    file.parent.chmod(folder)
    home.add_pack("leaky", LEAKY)
    home.write(f'[packs.leaky.settings]\nkey = {{ file = "{file}" }}\n')
    said = f"packs.leaky.settings.key: others may read {file}; mend it with: chmod 600 {file}"

    checked = home.run("config", "check", "--config", "mcp-host.toml")
    examined = home.run("doctor", "--json", "--config", "mcp-host.toml")
    async with home.stdio("--config", "mcp-host.toml") as client:
        await client.call("leaky_open")
        served = client.stderr

    assert (said in checked.err, said in served) == (warns, warns)
    assert examined.json["warnings"] == ([said] if warns else [])
    assert (checked.code, examined.code) == (0, 0)


BELL = "\x1b]0;title\x07\x9b2J\rgone\u202e"
RUDE = f"""
from mcp_host import Context, hookimpl, tool
from mcp_host import Unavailable
BELL = {BELL!r}
@hookimpl
def mcp_host_tools():
    @tool(description=f"Rings {{BELL}}")
    def ring(context: Context, fails: bool = False) -> str:
        context.progress(1, 2, BELL)
        context.log("warning", BELL)
        print(BELL)
        if fails:
            raise Unavailable(f"no bell {{BELL}}", suggestions=[f"try {{BELL}}"])
        return f"rang {{BELL}}"
    return [ring]
"""
BROKEN = f"""
raise RuntimeError({BELL!r})
"""
SHOWN = "\\x1b]0;title\\x07\\x9b2J\\rgone\\u202e"


def test_control_characters_of_packs_are_shown_and_not_executed(home: Home) -> None:
    home.add_pack("rude", RUDE)
    home.add_pack("broken", BROKEN)
    home.write("[packs.rude]\n[packs.broken]\n")
    config = ("--config", "mcp-host.toml")
    json_of_it = json.dumps(BELL)[1:-1]

    for words in (
        ("tools",),
        ("tools", "rude_ring"),
        ("packs",),
        ("doctor",),
        ("call", "rude_ring", "fails=true"),
        ("serve",),
    ):
        done = home.run(*words, *config)
        assert SHOWN in done.out + done.err, words
        assert not set(BELL) & set("\x1b\x07\x9b\r\u202e") & set(done.out + done.err), words
    for words in (("tools", "--json"), ("packs", "--json"), ("call", "rude_ring", "--json")):
        done = home.run(*words, *config)
        assert json_of_it in done.out
        assert not set("\x1b\x07\x9b\r\u202e") & set(done.out + done.err), words
    at_a_program = home.run("call", "rude_ring", *config)
    assert at_a_program.out == f"rang {BELL}\n".replace("\r", "\n")  # as text mode reads it


def test_what_a_tool_answers_is_shown_at_a_terminal(home: Home) -> None:
    home.add_pack("rude", RUDE)
    home.write("[packs.rude]\n")

    controller, terminal = pty.openpty()
    argv = home.argv("call", "rude_ring", "--config", "mcp-host.toml")
    with subprocess.Popen(
        argv,
        cwd=home.project,
        env=home.environment({"TERM": "dumb"}),
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    ):
        os.close(terminal)
        done = b""
        with suppress(OSError):  # Linux's word for the end of a terminal
            while read := os.read(controller, 4096):
                done += read
    os.close(controller)

    assert f"rang {SHOWN}" in done.decode()
