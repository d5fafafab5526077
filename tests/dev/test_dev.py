"""`mcp-host dev` and `mcp-host watch`: one running host, as an author and an onlooker have it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from core_home import Home
from core_web import Web
from mcp_host import LiveHost, SettingsError, WrittenPacks
from mcp_host.testing import hosted
from mcp_host_dev import recorded
from mcp_host_dev.recording import RecordedCall
from mcp_host_dev.serving.project import find

SOURCE = """
from typing import Annotated
from mcp_host import Ask, Context, Sample, hookimpl, prompt, resource, tool


@tool(read_only=True)
def greet(name: str, context: Context) -> dict[str, str]:
    "Greet somebody."
    context.progress(1, 2, "thinking of " + name)
    return {"text": "hello " + name}


@tool
def fell(
    tree: str,
    sure: Annotated[bool, Ask("Fell {tree}?")],
    poem: Annotated[str, Ask(Sample("A farewell."))],
) -> str:
    "Fell a tree."
    return f"{tree}: {poem}"


@resource("garden://map")
def plan() -> str:
    "The map."
    return "a map"


@prompt
def spring(budget: int) -> str:
    "Plan."
    return f"with {budget}"


@hookimpl
def mcp_host_tools():
    return [greet, fell]


@hookimpl
def mcp_host_resources():
    return [plan]


@hookimpl
def mcp_host_prompts():
    return [spring]
"""
LONGEST = 60.0

pytestmark = pytest.mark.xdist_group("dev")  # the last test ends the host that all have


class Command:
    """A command that runs until it is ended, and what it has printed."""

    def __init__(self, home: Home, *arguments: str) -> None:
        self.process = subprocess.Popen(
            home.argv(*arguments),
            cwd=home.project,
            env=home.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.out = ""
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def said(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed this."""
        with self._news:
            assert self._news.wait_for(lambda: re.search(pattern, self.out), LONGEST), self.out
            found = re.search(pattern, self.out)
        assert found is not None
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        code = self.process.wait(LONGEST)
        self._reader.join(LONGEST)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.out += line
                self._news.notify_all()


class Browser:
    """Asks a page as its own code does."""

    def __init__(self, url: str) -> None:
        self.address, _, self.token = url.partition("#")
        self.host = self.address.split("/")[2]

    def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, timeout=LONGEST)
        given = {"Authorization": f"Bearer {self.token}", "Origin": f"http://{self.host}"}
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {k: v for k, v in (given | headers).items() if v})
        return connection.getresponse()

    def ask(self, path: str, **body: Any) -> Any:
        answer = self.send("POST", path, body)
        text = answer.read().decode()
        assert answer.status == 200, text
        return json.loads(text)

    def call(self, kind: str, name: str, answers: Any = None, /, **arguments: Any) -> Any:
        """Call, and answer what is asked."""
        asked = {"kind": kind, "name": name, "arguments": arguments, "key": "1"}
        told = self.ask("/api/call", **asked)
        if told.get("result", {}).get("resultType") == "input_required":
            state = told["result"]["requestState"]
            told = self.ask("/api/call", **asked, answers=answers, state=state)
        return told


@pytest.fixture(scope="module")
def author(make_home: Callable[[], Home]) -> Home:
    home = make_home()
    home.add_pack("garden", SOURCE)
    home.write("[packs.garden]\nenabled = true\n[packs.desk]\nenabled = true\n")
    return home


@pytest.fixture(scope="module")
def dev(author: Home) -> Iterator[Command]:
    command = Command(author, "dev", "--record", "calls.jsonl")
    try:
        command.said("Ctrl\\+C ends it")
        yield command
    finally:
        command.process.kill()
        command.process.wait()


@pytest.fixture(scope="module")
def page(dev: Command) -> Browser:
    return Browser(dev.said(r"page +(\S+)\n")[1])


ANSWERS = {
    "sure": {"action": "accept", "content": {"sure": True}},
    "poem": {"role": "assistant", "content": {"type": "text", "text": "bye"}, "model": "m"},
}


def test_the_page_calls_everything_and_each_call_is_shown_as_it_goes(
    dev: Command, page: Browser
) -> None:
    lists = page.ask("/api/lists")
    greeted = page.call("tool", "garden_greet", name="Ada\x1b[2J")
    felled = page.call("tool", "garden_fell", ANSWERS, tree="oak")
    read = page.call("resource", "garden://map")
    planned = page.call("prompt", "garden_spring", budget="3")
    missing = page.call("tool", "garden_grow")

    assert [tool["name"] for tool in lists["tools"]][:2] == ["garden_greet", "garden_fell"]
    assert greeted["result"]["structuredContent"]["text"].startswith("hello Ada")
    assert felled["result"]["content"][0]["text"] == "oak: bye"
    assert read["result"]["contents"][0]["text"] == "a map"
    assert planned["result"]["messages"][0]["content"]["text"] == "with 3"
    assert missing["error"]["data"]["code"] == "not_found"
    dev.said(r"garden_greet \{.name.: .Ada\\")
    dev.said("… 1 of 2: thinking of Ada")
    dev.said("ok in .*hello Ada")
    dev.said("not_found in .*Unknown tool")
    assert "\x1b[2J" not in dev.out
    kinds = [event["event"] for event in page.ask("/api/events") if "id" in event]
    assert kinds[:3] == ["began", "progress", "ended"]


@pytest.mark.skipif(
    chromium.PROGRAM is None,
    reason="THE PAGE'S OWN CODE WAS NOT TESTED: there is no Chromium here (apt install chromium)",
)
def test_the_page_is_used_by_keyboard_alone_in_a_narrow_window(
    page: Browser, tmp_path: Path
) -> None:
    with chromium.tab(tmp_path) as tab:
        tab.size(400, 800)
        tab.open(f"{page.address}#{page.token}")
        listed = "[...document.querySelectorAll('#entries button')].map((one) => one.textContent)"
        tab.wait(f"{listed}.includes('garden_greet') && {listed}.includes('garden://map')")
        assert tab.find("document.documentElement.scrollWidth <= 400")
        assert page.token not in tab.find("location.href")

        tab.press("/")
        tab.type("garden_g")
        tab.wait(f"{listed}.length === 1")
        tab.tab_to("at.textContent === 'garden_greet'")
        tab.press("Enter")
        tab.wait("document.querySelector('#detail h2').textContent === 'garden_greet'")
        tab.tab_to("at.tagName === 'INPUT' && at.form?.id === 'form'")
        tab.press("Enter")  # it is needed: the form says so, and nothing is called
        tab.wait("document.activeElement.getAttribute('aria-invalid') === 'true'")
        tab.type("Grace <b>")
        tab.press("Enter")
        tab.wait("!!document.querySelector('#result .good')")
        assert "hello Grace <b>" in tab.find("document.querySelector('#result').innerText")
        tab.wait("document.querySelector('#feed').innerText.includes('garden_greet')")

        tab.press("/")  # in a field it is a letter like any other
        assert tab.find("document.activeElement.id !== 'filter'")


def test_nobody_without_the_token_and_no_other_site_gets_anything(page: Browser) -> None:
    index = page.send("GET", "/", Authorization="", Origin="")
    policy = index.headers["content-security-policy"]
    paths = [("POST", f"/api/{name}") for name in ("lists", "events", "call", "cancel", "complete")]

    assert index.status == 200
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for method, path in [*paths, ("GET", "/events")]:
        body = {} if method == "POST" else None
        statuses = [
            page.send(method, path, body, Authorization="Bearer other").status,
            page.send(method, path, body, Authorization="").status,
            page.send(method, path, body, Origin="https://evil.example").status,
            page.send(method, path, body, Host="evil.example").status,
            page.send(method, path, body, **{"Sec-Fetch-Site": "cross-site"}).status,
        ]
        assert statuses == [403, 403, 403, 421, 403], path
    answer = page.send("POST", "/api/lists", {})
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.anyio
async def test_a_saved_file_replaces_the_pack_clients_hear_of_it_and_a_broken_one_changes_nothing(
    author: Home, dev: Command, page: Browser
) -> None:
    file = author.folder / "packs" / "garden-pack" / "garden_pack_plugin.py"
    wanted = {"notifications": {"toolsListChanged": True}}
    async with (
        Web(dev.said(r"endpoint +(\S+)")[1]) as web,
        web.stream("subscriptions/listen", **wanted) as news,
    ):
        await anext(news)  # that it listens
        file.write_text(SOURCE.replace("def greet", "def welcome").replace("[greet", "[welcome"))
        told = await anext(news)
        dev.said("replaced: garden")
        listed = (await web.ask("tools/list"))["result"]["tools"]
    file.write_text("def broken(:")
    dev.said("not replaced: .*SyntaxError.*What was saved before goes on")

    assert told["method"] == "notifications/tools/list_changed"
    assert listed[0]["name"] == "garden_welcome"
    assert page.call("tool", "garden_welcome", name="Ada")["result"]["isError"] is False
    file.write_text(SOURCE)
    dev.said("(?s)replaced: garden.*not replaced.*replaced: garden")


@pytest.mark.parametrize("values", [False, True])
def test_an_onlooker_sees_shapes_and_values_only_when_asked_for(
    author: Home, page: Browser, values: bool
) -> None:
    watch = Command(author, "watch", *(["--values"] if values else []))
    try:
        onlooker = Browser(watch.said(r"page +(\S+)\n")[1])
        watch.said("Ctrl\\+C ends this")
        page.call("tool", "garden_greet", name="Ada")
        watch.said("ok in ")
        told = onlooker.ask("/api/events")
        lists = onlooker.ask("/api/lists")
        refused = onlooker.send("POST", "/api/call", {}).status
        code = watch.end()
    finally:
        watch.process.kill()

    assert lists["calls"] is False
    assert any(tool["name"] == "garden_greet" for tool in lists["tools"])
    assert refused == 404
    assert told[1]["shapes"] == {"name": "string 3"}
    assert ("Ada" in json.dumps(told)) is values
    assert ("Ada" in watch.out) is values
    assert code == 0


def test_running_hosts_are_found_by_their_settings_and_their_number(
    author: Home, dev: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(author.folder / "cache"))

    (found,) = LiveHost.find()

    assert LiveHost.find(process=found.process)
    assert LiveHost.find(author.project / "other.toml") == []
    assert LiveHost.find(process=1) == []
    with pytest.raises(SettingsError, match="has ended"):
        LiveHost(1).lists()


@pytest.mark.anyio
async def test_recorded_calls_are_fixtures_for_tests_and_for_replay(
    author: Home, dev: Command, page: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page.call("tool", "garden_greet", name="Ada")
    page.call("tool", "garden_fell", ANSWERS, tree="oak")
    page.call("resource", "garden://map")
    page.call("prompt", "garden_spring", budget="3")
    monkeypatch.setenv("XDG_CACHE_HOME", str(author.folder / "cache"))
    assert LiveHost.find()
    assert dev.end(signal.SIGTERM) == 0
    assert not list(author.project.glob(".mcp-host-dev*"))
    assert LiveHost.find() == []
    file = author.project / "calls.jsonl"
    known = recorded(file)[-4:]  # other tests have called as well
    file.write_text("".join(file.read_text().splitlines(keepends=True)[-4:]))
    with file.open("a") as more:
        more.write('{"kind": "tool", "name": "garden_welcome", "arguments": {}, "result": {}}\n')
    monkeypatch.syspath_prepend(author.folder / "packs" / "garden-pack")

    async with hosted({"garden": "garden_pack_plugin"}) as host:
        for call in known:
            await call.check(host)
        other = RecordedCall("tool", "garden_greet", {"name": "Bo"}, result=known[0].result)
        with pytest.raises(AssertionError, match=r"hello Ada.*hello Bo"):
            await other.check(host)
        await other.check(host, ignore=["text", "content"])

    assert [call.kind for call in known] == ["tool", "tool", "resource", "prompt"]
    replayed = author.run("dev", "--replay", "calls.jsonl")
    assert replayed.code == 1
    assert "differs  garden_welcome" in replayed.out
    assert "5 calls, 1 differ" in replayed.out


def test_a_project_that_is_not_installed_is_served_and_goes_with_its_metadata(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "shed.py").write_text(SOURCE)
    points = '[project.entry-points."mcp_host.packs"]\nshed = "shed"\n'
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "my-shed"\n{points}')

    project = find(tmp_path)
    with project.written.installed() as (about, sources, _):
        told = Path(about, "my_shed-0.dist-info", "entry_points.txt").read_text()

    assert project.packs == {"shed": tmp_path / "src" / "shed.py"}
    assert sources == str(tmp_path / "src")
    assert told == "[mcp_host.packs]\nshed = shed\n"
    assert not Path(about).exists()


KILLED = """
import os, sys
from pathlib import Path
from mcp_host import WrittenPacks
written = WrittenPacks.at(Path())
with written.own_settings(), written.installed():
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shed.py").write_text(SOURCE)
    points = '[project.entry-points."mcp_host.packs"]\nshed = "shed"\n'
    (tmp_path / "pyproject.toml").write_text(points)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def made() -> list[Path]:
        return [*tmp_path.glob(".mcp-host-dev-*.toml"), *temporary.iterdir()]

    subprocess.run(
        [sys.executable, "-c", KILLED],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        check=False,
    )
    left = made()
    written = WrittenPacks.at(tmp_path)
    with written.own_settings(), written.installed():
        lives = made()
        with WrittenPacks.at(tmp_path).installed():
            assert set(lives) < set(made())

    assert len(left) == len(lives) == 2
    assert not set(left) & set(lives)
    assert made() == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no pack to serve"),
        ({"mcp-host.toml": "[packs.x]\nenabled = false\n"}, "has no pack to serve"),
        ({"mcp-host.toml": "[packs"}, "cannot be read"),
        (
            {"pyproject.toml": '[project.entry-points."mcp_host.packs"]\nnew_one = "new_one"\n'},
            "must be installed, so that the host finds it; run: pip install -e",
        ),
    ],
)
def test_a_folder_that_cannot_be_served_says_what_to_do(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(SettingsError, match=re.escape(said)):
        find(tmp_path)


def test_a_single_file_and_settings_that_name_one_are_served(tmp_path: Path) -> None:
    (tmp_path / "Say-hello.py").touch()
    (tmp_path / "mcp-host.toml").write_text('[packs.other]\nfile = "./Say-hello.py"\n')

    alone, named = find(tmp_path / "Say-hello.py"), find(tmp_path)

    table = {"enabled": True, "isolation": "process", "file": str(tmp_path / "Say-hello.py")}
    assert alone.tables() == {"packs": {"say_hello": table}}
    assert named.packs == {"other": tmp_path / "./Say-hello.py"}
    with pytest.raises(SettingsError, match="must make a pack's name"):
        (tmp_path / "7.py").touch()
        find(tmp_path / "7.py")
