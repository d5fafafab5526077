"""A single file as a pack: an ordinary pack without a distribution."""

import json
from pathlib import Path
from typing import Any

import pytest
from core_home import Home, Hosting
from mcp_host.serving.reload.reloading import Reloading
from mcp_host.settings.loading import parse

pytestmark = pytest.mark.anyio

GREET = """
from contextlib import asynccontextmanager
from textwrap import dedent

from mcp_host import Needs, hookimpl, prompt, resource, tool
from pydantic import BaseModel


class Settings(BaseModel, frozen=True):
    word: str = "Good day"


class Greeting(BaseModel):
    text: str


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings):
    yield settings.word


@tool(read_only=True)
def greet(word, /, name: str) -> Greeting:
    "Greet somebody."
    return Greeting(text=f"{word}, {name}!")


again = greet


@resource("greet://word")
def word(word, /) -> str:
    "The word."
    return word


@prompt
def polite(name: str) -> str:
    "Greet politely."
    return f"Greet {name} politely"
"""


def settings_of(file: Path | str, **table: Any) -> dict[str, Any]:
    return {"packs": {"greet": {"file": str(file), **table}}}


async def test_it_is_served_like_any_pack(hosted: Hosting, tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text(GREET)
    tables = settings_of("./greet.py", settings={"word": "Salve"})

    async with hosted({}, tables, root=tmp_path) as host:
        assert host.names() == ["greet_greet"]
        assert await host.value("greet_greet", name="Ann") == {"text": "Salve, Ann!"}
        assert await host.text("greet://word") == "Salve"
        assert await host.prompt("greet_polite", name="Ann") == ["Greet Ann politely"]
        (about,) = host.host.report()

    assert about["state"] == "ready"
    assert about["file"] == str(tmp_path / "greet.py")
    assert "distribution" not in about
    assert not list(tmp_path.glob("__pycache__"))


async def test_two_packs_may_be_the_same_file(hosted: Hosting, tmp_path: Path) -> None:
    file = tmp_path / "greet.py"
    file.write_text(GREET.replace('@resource("greet://word")', ""))
    tables = settings_of(file)
    tables["packs"]["other"] = {"file": str(file), "settings": {"word": "Salve"}}

    async with hosted({}, tables, root=tmp_path) as host:
        words = [await host.value(f"{pack}_greet", name="Ann") for pack in ("greet", "other")]

    assert [word["text"] for word in words if "text" in word] == ["Good day, Ann!", "Salve, Ann!"]


async def test_a_file_that_marks_nothing_serves_its_functions_that_say_what_they_do(
    hosted: Hosting, tmp_path: Path
) -> None:
    file = tmp_path / "greet.py"
    file.write_text(
        "from os.path import join\n"
        "def greet(name: str) -> str:\n"
        "    'Greet somebody.'\n"
        "    return _said(name)\n"
        "def _said(name: str) -> str:\n"
        "    'Return the words.'\n"
        "    return f'Good day, {name}!'\n"
        "def helper(): return 1\n"
    )

    async with hosted({}, settings_of(file), root=tmp_path) as host:
        assert host.names() == ["greet_greet"]
        assert await host.value("greet_greet", name="Ann") == "Good day, Ann!"


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        (None, "file_missing", "there is no file {file}"),
        ("def greet(:\n", "import_failed", "{file}, line 1: invalid syntax: def greet(:"),
        ("x = 1\n", "nothing_declared", "{file} declares no tool, resource or prompt"),
        ("def add(a: int): ...\n", "nothing_declared", "declares no tool"),
        ("from mcp_host import tool\n", "nothing_declared", "declares no tool"),
        ("from . import other\n", "import_failed", "{file} imports what lies beside it"),
        ("raise KeyError('x')\n", "import_failed", "importing {file} raised KeyError"),
        ("a = '\0'\n", "import_failed", "{file}"),
        ("import sys; sys.exit(3)\n", "import_failed", "raised SystemExit: 3"),
    ],
)
async def test_what_is_wrong_with_a_file_is_told(
    hosted_in_threads: Hosting, tmp_path: Path, source: str | None, code: str, said: str
) -> None:
    file = tmp_path / "greet.py"
    if source is not None:
        file.write_text(source)

    async with hosted_in_threads({}, settings_of(file), root=tmp_path) as host:
        (about,) = host.host.report()

    assert (about["state"], about["code"]) == ("failed", code)
    assert said.format(file=file) in about["reason"]
    assert about["remedy"]


async def test_a_changed_file_is_loaded_anew_and_a_broken_one_changes_nothing(
    hosted: Hosting, tmp_path: Path
) -> None:
    file = tmp_path / "greet.py"
    file.write_text(GREET)
    tables = settings_of(file)

    async with hosted({}, tables, root=tmp_path) as host:
        isolation = host.host.settings.host.isolation
        new = {**tables, "host": {"isolation": isolation, "root": str(tmp_path)}}
        reloading = Reloading(host.host, lambda: parse(new, tmp_path / "mcp-host.toml"))
        unchanged = await reloading.reload()
        file.write_text(GREET.replace("{name}!", "{name}?"))
        changed = await reloading.reload()
        greeting = await host.value("greet_greet", name="Ann")
        file.write_text("def greet(:")
        broken = await reloading.reload()
        still = await host.value("greet_greet", name="Ann")

    assert unchanged["changed"] == []
    assert changed["changed"] == ["greet"]
    assert greeting == still == {"text": "Good day, Ann?"}
    assert f"{file}, line 1: invalid syntax" in broken["error"]


def test_a_command_line_and_the_trust_of_a_file(home: Home) -> None:
    home.write('[packs.desk]\nfile = "./greet.py"\n')
    (home.project / "greet.py").write_text(GREET)
    trusted = home.run("trust")
    called = home.run("call", "desk_greet", "name=Ann", "--json")
    listed = home.run("tools", "--json")
    doctor = home.run("doctor", "--json")
    (home.project / "greet.py").write_text(GREET + "\n")

    assert f"it names and runs: {home.project / 'greet.py'}" in trusted.out
    assert called.json["structuredContent"] == {"text": "Good day, Ann!"}
    assert [tool["name"] for tool in listed.json] == ["desk_greet"]
    assert doctor.code == 0
    (warning,) = doctor.json["warnings"]
    assert warning.endswith("greet.py is served, and not the pack of desk-pack")
    assert "greet.py, which it names, changed since it was trusted" in home.run("tools").err


def test_settings_that_name_two_sources_are_refused(home: Home) -> None:
    config = home.write('[packs.desk]\nfile = "./greet.py"\ndistribution = "desk-pack"\n')

    done = home.run("config", "check", "--config", str(config))

    assert done.code == 1
    assert "packs.desk: file must not stand beside distribution" in done.err + done.out


def test_the_saved_catalogue_goes_by_the_file(home: Home) -> None:
    config = str(home.write('[packs.greet]\nfile = "./greet.py"\n'))
    file = home.project / "greet.py"
    file.write_text(GREET)
    home.run("serve", "--config", config)
    saved = home.run("doctor", "--config", config, "--json").json["catalogue"]
    file.write_text(GREET.replace("def greet", "def hail").replace("= greet", "= hail"))

    listed = json.loads(home.run("tools", "--config", config, "--json").out)

    assert saved.startswith("good")
    assert [tool["name"] for tool in listed] == ["greet_hail"]
