"""The saved catalogue: lists before anything is loaded, never a wrong one that stays."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_host
import pytest
from mcp_host.startup import saved
from mcp_host.testing import stdio_client
from mcp_host.testing.clients import MODERN

pytestmark = pytest.mark.anyio

PLUGIN = """
import os
from mcp_host import hookimpl, tool

gate = os.environ.get("TEST_GATE")
if gate:
    open(gate).read()  # a FIFO: waits until the test opens it

def answer() -> str:
    return "answered"

@hookimpl
def mcp_host_tools():
    names = os.environ.get("TEST_TOOLS", "first").split()
    return [tool(name=name, description="It answers.")(answer) for name in names]
"""


@dataclass
class Place:
    """A folder with one installed pack, `made`, and a settings file that enables it."""

    folder: Path

    def __post_init__(self) -> None:
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        self.plugin.write_text(PLUGIN)
        info = self.folder / "site" / "made_pack-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-pack\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[mcp_host.packs]\nmade = made_pack.plugin\n")
        self.settings.write_text("[packs.made]\nenabled = true\n")

    @property
    def package(self) -> Path:
        return self.folder / "site" / "made_pack"

    @property
    def plugin(self) -> Path:
        return self.package / "plugin.py"

    @property
    def metadata(self) -> Path:
        return self.folder / "site" / "made_pack-1.dist-info" / "METADATA"

    @property
    def settings(self) -> Path:
        return self.folder / "mcp-host.toml"

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def files(self) -> list[Path]:
        return sorted((self.cache / "mcp-host" / "catalogues").glob("*"))

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            **more,
        }

    def argv(self, *options: str) -> list[str]:
        config = str(self.settings)
        return [sys.executable, "-m", "mcp_host", "serve", "--config", config, *options]

    def client(self, *options: str, protocol: str = "2025-11-25", **environment: str) -> Any:
        return stdio_client(
            self.argv(*options),
            protocol=protocol,
            cwd=self.folder,
            environment=self.environment(**environment),
        )

    async def tools(self, *options: str, **environment: str) -> list[str]:
        """The names that a start shows; the client leaves right after."""
        async with self.client(*options, **environment) as client:
            names = _names(await client.tools())
            assert await client.end_input() == 0
            return names

    def doctor(self, **environment: str) -> str:
        """What doctor says of the catalogue."""
        done = subprocess.run(
            [sys.executable, "-m", "mcp_host", "doctor", "--json", "--config", str(self.settings)],
            cwd=self.folder,
            env=self.environment(**environment),
            capture_output=True,
            check=False,
        )
        return str(json.loads(done.stdout)["catalogue"])


def _names(tools: list[dict[str, Any]]) -> list[str]:
    return [tool["name"] for tool in tools]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("protocol", ["2025-11-25", MODERN])
async def test_lists_are_answered_before_any_pack_is_imported(place: Place, protocol: str) -> None:
    assert await place.tools() == ["made_first"]
    gate = place.folder / "gate"
    os.mkfifo(gate)

    async with place.client(protocol=protocol, TEST_GATE=str(gate)) as client:
        names = _names(await client.tools())  # the import of the pack waits at the gate
        gate_opened = os.open(gate, os.O_WRONLY)
        os.close(gate_opened)

        assert names == ["made_first"]
        assert await client.value("made_first") == "answered"
        assert await client.end_input() == 0


async def test_a_client_that_leaves_after_its_first_list_leaves_a_catalogue(place: Place) -> None:
    await place.tools()

    (file,) = place.files
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.doctor().startswith("good, saved at")


async def test_a_pack_that_arrives_between_the_first_answers_and_serving_is_saved(
    place: Place,
) -> None:
    arrives = 'import sys, time\nwhile "mcp_host.serving.sdk" not in sys.modules:\n'
    place.plugin.write_text(f"{arrives}    time.sleep(0.001)\n{PLUGIN}")

    async with place.client() as client:
        assert await client.tools() == []
        assert await client.value("made_first") == "answered"
        assert await client.end_input() == 0
    (file,) = place.files

    assert "made_first" in json.loads(file.read_text())["catalogue"]
    assert "not what the packs now show" not in client.stderr


async def test_it_is_switched_off_by_an_option_and_by_a_setting(place: Place) -> None:
    await place.tools("--no-catalogue")
    assert place.files == []
    place.settings.write_text("[host]\ncatalogue = false\n[packs.made]\n")
    await place.tools()
    assert place.files == []
    assert place.doctor() == "switched off in the settings"


async def test_the_lists_of_commands_come_from_it(place: Place) -> None:
    await place.tools()
    done = subprocess.run(
        [sys.executable, "-m", "mcp_host", "tools", "--json", "--config", str(place.settings)],
        cwd=place.folder,
        env=place.environment(TEST_GATE="/nowhere/at/all"),  # importing the pack would fail
        capture_output=True,
        check=True,
    )
    assert _names(json.loads(done.stdout)) == ["made_first"]


@pytest.mark.parametrize("protocol", ["2025-11-25", MODERN])
async def test_what_it_could_not_see_is_told_to_the_client_and_mended(
    place: Place, protocol: str
) -> None:
    assert await place.tools() == ["made_first"]

    async with place.client(protocol=protocol, TEST_TOOLS="first second") as client:
        assert _names(await client.tools()) == ["made_first"]
        if protocol == MODERN:
            wanted = {"notifications": {"toolsListChanged": True}}
            await client.send(client.frame("listen", "subscriptions/listen", wanted))
        await client.notified("notifications/tools/list_changed")
        assert _names(await client.tools()) == ["made_first", "made_second"]
        assert "the saved catalogue was not what the packs now show" in client.stderr

    assert await place.tools(TEST_TOOLS="first second") == ["made_first", "made_second"]


async def test_a_required_pack_that_fails_ends_the_process_although_lists_were_shown(
    place: Place,
) -> None:
    place.settings.write_text("[packs.made]\nrequired = true\n")
    assert await place.tools() == ["made_first"]

    async with place.client(TEST_GATE="/nowhere/at/all") as client:
        assert _names(await client.tools()) == ["made_first"]
        assert await client.exited() == 3
        (line,) = [line for line in client.stderr.splitlines() if line.startswith("error: ")]
        assert "pack made is failed" in line


async def test_calls_that_come_while_loading_are_answered_though_input_ends(place: Place) -> None:
    await place.tools()
    async with place.client() as client:
        numbers = list(range(100, 130))
        for number in numbers:
            call = {"name": "made_first", "arguments": {}}
            await client.send(client.frame(number, "tools/call", call))
        assert await client.end_input() == 0
        answered = [frame["id"] for frame in client.other_frames if "result" in frame]
        assert sorted(answered) == numbers


async def test_a_signal_while_loading_ends_with_0(place: Place) -> None:
    await place.tools()
    gate = place.folder / "gate"
    os.mkfifo(gate)
    async with place.client(TEST_GATE=str(gate)) as client:
        await client.tools()
        assert await client.signal(signal.SIGTERM) == 0


async def test_a_pack_edited_upgraded_or_uninstalled_is_shown_as_it_is(place: Place) -> None:
    await place.tools()
    place.plugin.write_text(PLUGIN.replace('"first"', '"edited"'))
    assert await place.tools() == ["made_edited"]
    place.metadata.write_text(place.metadata.read_text().replace("Version: 1", "Version: 1.1"))
    assert place.doctor() == "not used, changed since: installed files"
    assert await place.tools() == ["made_edited"]
    (place.metadata.parent / "entry_points.txt").unlink()
    place.metadata.unlink()
    assert await place.tools() == []


async def test_what_a_pack_reads_beside_its_code_matters_also_when_it_is_new_or_gone(
    place: Place,
) -> None:
    data = place.package / "data"
    data.mkdir()
    (data / "1.txt").write_text("one")
    read = "[p.read_text() for p in sorted((pathlib.Path(__file__).parent / 'data').glob('*'))]"
    named = PLUGIN.replace('os.environ.get("TEST_TOOLS", "first").split()', read)
    place.plugin.write_text(named.replace("import os", "import os, pathlib"))

    assert await place.tools() == ["made_one"]
    (data / "1.txt").write_text("uno")
    assert await place.tools() == ["made_uno"]
    (data / "2.txt").write_text("due")
    assert await place.tools() == ["made_uno", "made_due"]
    (data / "1.txt").unlink()
    assert await place.tools() == ["made_due"]
    (place.package / "__pycache__").mkdir(exist_ok=True)
    assert place.doctor().startswith("good")


async def test_of_a_pack_in_one_file_that_file_matters_and_not_its_neighbours(
    place: Place,
) -> None:
    entry = place.metadata.with_name("entry_points.txt")
    entry.write_text("[mcp_host.packs]\nmade = made_alone\n")
    alone = place.folder / "site" / "made_alone.py"
    alone.write_text(PLUGIN)
    await place.tools()
    saved_files = json.loads(place.files[0].read_text())["dependencies"]["files"]

    assert str(alone) in saved_files
    assert str(place.plugin) not in saved_files
    alone.write_text(PLUGIN.replace('"first"', '"edited"'))
    assert await place.tools() == ["made_edited"]


@pytest.mark.parametrize("room", ["packs", "runtime", "serving/warm"])
async def test_a_checkout_of_the_host_that_was_edited_in_any_room_is_loaded_anew(
    place: Place, room: str
) -> None:
    checkout = place.folder / "site" / "mcp_host"
    shutil.copytree(Path(mcp_host.__file__).parent, checkout)
    await place.tools()
    assert place.doctor().startswith("good")

    with (checkout / room / "__init__.py").open("a") as file:
        file.write("# edited\n")

    assert place.doctor() == "not used, changed since: installed files"


async def test_a_cache_folder_that_cannot_be_written_is_no_failure(place: Place) -> None:
    place.cache.write_text("a file where a folder should be")
    assert await place.tools() == ["made_first"]
    assert await place.tools() == ["made_first"]


@pytest.mark.parametrize("rounds", [4, pytest.param(100, marks=pytest.mark.torture)])
async def test_servers_that_start_at_once_and_are_killed_leave_a_good_file_or_none(
    place: Place, rounds: int
) -> None:
    chance = random.Random(7)
    for _ in range(rounds):
        for file in place.files:
            file.unlink()  # so that both write one
        processes = [
            subprocess.Popen(
                place.argv(),
                cwd=place.folder,
                env=place.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        try:
            processes[0].wait(chance.uniform(0.1, 0.5))
        except subprocess.TimeoutExpired:
            processes[0].kill()
        for process in processes:
            process.wait(30)
        for file in place.files:
            if not file.name.startswith("."):
                assert json.loads(file.read_bytes())["format"] == saved.FORMAT
    assert await place.tools() == ["made_first"]
