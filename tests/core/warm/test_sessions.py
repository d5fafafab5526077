"""Sessions of the warm host: each has what is its own, and all share what is opened once."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import warm_home
from core_home import Home
from mcp_host.testing import StdioClient
from warm_home import WarmHome, eventually, has_ended

warm = warm_home.warm
ERAS = ["2025-11-25", "2026-07-28"]
ONE_ERA = ["2026-07-28", pytest.param("2025-11-25", marks=pytest.mark.torture)]
"""The short round has one era of each."""
ANSWERS = '''
from mcp_host import hookimpl, tool


@tool
def answer() -> int:
    """Return 42."""
    return 42


@hookimpl
def mcp_host_tools():
    return [answer]
'''
"""A pack that does not say which variables it reads: no two sessions share it."""


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_sessions_share_a_process_and_an_opened_pack(warm: WarmHome, protocol: str) -> None:
    await warm.learn()

    async with warm.stdio(protocol=protocol) as one, warm.stdio(protocol=protocol) as two:
        processes = {await client.value("probe_process") for client in (one, two)}
        counts = [await client.value("probe_count") for client in (one, two)]

    (host,) = warm.hosts()
    assert processes == {host["process"]}
    assert counts == [1, 2]
    assert warm.alone() == ""


@pytest.mark.torture
async def test_the_first_session_is_served_alone_and_leaves_a_catalogue(warm: WarmHome) -> None:
    async with warm.stdio() as client:
        await client.value("probe_count")

    assert warm.hosts() == []


async def test_it_is_on_unless_command_line_variable_or_settings_say_otherwise(
    warm: WarmHome,
) -> None:
    unsaid = {"MCP_HOST_WARM": ""}
    await warm.learn(env=unsaid)

    async with warm.stdio("--no-warm", env=unsaid) as one:
        await one.tools()
    async with warm.stdio(env={"MCP_HOST_WARM": "0"}) as two:
        await two.tools()
    assert not warm.place.exists()
    async with warm.stdio(env=unsaid) as client:
        served_by = await client.value("probe_process")
    assert [host["process"] for host in warm.hosts()] == [served_by]

    warm.home.write("[host]\nwarm = false\n" + warm_home.SETTINGS)
    await warm.learn(env=unsaid)
    async with warm.stdio(env=unsaid) as client:
        assert await client.value("probe_process") not in (served_by, None)
        assert warm.hosts()[0]["sessions"] == []


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
async def test_connections_are_as_many_as_clients(warm: WarmHome, protocol: str) -> None:
    await warm.learn()

    async with warm.stdio(protocol=protocol) as one, warm.stdio(protocol=protocol) as two:
        told = [await client.value("probe_say") for client in (one, two, one)]

    assert told[0] == told[2] != told[1]


async def test_a_log_level_is_that_of_its_session(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as quiet, warm.stdio() as loud:
        await quiet.request("logging/setLevel", {"level": "error"})
        for client in (quiet, loud):
            await client.call("probe_say")
        told = await loud.notified("notifications/message")

    assert len(told) == 1
    assert quiet.notifications == []


@pytest.mark.torture
async def test_logs_of_a_call_go_to_the_standard_error_of_its_session(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as one, warm.stdio("--log-format", "json") as two:
        await one.call("probe_count")
        await two.call("probe_process")
        for client in (one, two):
            await client.request("ping")

    assert "probe_count" in one.stderr and "probe_process" not in one.stderr
    assert '"tool": "probe_process"' in two.stderr and "probe_count" not in two.stderr


@pytest.mark.torture
async def test_sessions_in_other_folders_have_hosts_of_their_own_in_one_process(
    warm: WarmHome,
) -> None:
    other = warm.home.folder / "other"
    other.mkdir()
    await warm.learn()
    await warm.learn("--root", str(other))

    async with warm.stdio() as one, warm.stdio("--root", str(other)) as two:
        counts = [await client.value("probe_count") for client in (one, two)]
        (host,) = warm.hosts()

    assert counts == [1, 1]
    assert sorted(each["root"] for each in host["hosts"]) == sorted(
        [str(warm.home.project), str(other)]
    )


@pytest.mark.torture
async def test_a_session_sees_packs_that_are_imported_slowly_in_its_first_lists(
    warm: WarmHome,
) -> None:
    warm.home.add_pack("slow", "import time\ntime.sleep(1.5)\n" + UNDECLARED)
    warm.home.write(warm_home.SETTINGS + "[packs.slow]\nenabled = true\n")
    await warm.learn()
    async with warm.stdio() as first:
        await first.value("slow_here", variable="HOME")
        async with warm.stdio() as second:  # whose lists the host tells, with a child of its own
            names = {tool["name"] for tool in await second.tools()}
        assert len(warm.hosts()) == 1, warm.alone()

    assert "slow_here" in names
    assert [n for n in second.notifications if n["method"].endswith("list_changed")] == []


@pytest.mark.torture
async def test_another_value_of_a_declared_variable_is_another_process(warm: WarmHome) -> None:
    one, two = ({"PROBE_KEY": value} for value in ("one", "two"))
    await warm.learn(env=one)
    async with warm.stdio(env=one) as client:
        first = await client.value("probe_process")
    await warm.learn(env=two)

    async with warm.stdio(env=two) as client:
        second = await client.value("probe_process")

    assert first != second
    assert len(warm.hosts()) == 2
    assert "one" not in " ".join(path.name for path in warm.place.iterdir())


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.torture)]
)
async def test_a_signal_ends_its_session_alone(warm: WarmHome, number: int) -> None:
    await warm.learn()

    async with warm.stdio() as one, warm.stdio() as two:
        await one.value("probe_count")
        two.process.send_signal(number)
        code = await asyncio.wait_for(two.process.wait(), 30)
        assert await one.value("probe_count") == 2

    assert code == 0


@pytest.mark.torture
async def test_the_end_of_input_ends_a_session_with_0(warm: WarmHome) -> None:
    await warm.learn()
    done = await asyncio.to_thread(
        warm.home.run, "serve", "--config", "mcp-host.toml", "--warm", stdin=""
    )
    eventually(lambda: warm.hosts() == [] or warm.hosts()[0]["sessions"] == [])

    assert (done.code, done.out) == (0, "")


async def test_a_killed_front_leaves_no_session(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as one:
        async with warm.stdio() as two:
            await two.value("probe_count")
            two.process.kill()
            await two.process.wait()
        assert await one.value("probe_count") == 2
        await asyncio.to_thread(eventually, lambda: len(warm.hosts()[0]["sessions"]) == 1)


@pytest.mark.torture
async def test_a_required_pack_that_fails_ends_its_sessions_with_3(home: Home) -> None:
    home.add_pack(
        "probe",
        "from mcp_host import Needs, hookimpl\n"
        "from pathlib import Path\n"
        "@hookimpl\n"
        "def mcp_host_needs():\n    return Needs(reads_environment=())\n"
        "@hookimpl\n"
        "def mcp_host_tools():\n    return []\n"
        "from contextlib import asynccontextmanager\n"
        "@hookimpl\n"
        "@asynccontextmanager\n"
        "async def mcp_host_open(settings, pack):\n"
        "    if Path('" + str(home.project / "broken") + "').exists():\n"
        "        raise ValueError('no')\n"
        "    yield 1\n",
    )
    home.write("[packs.probe]\nenabled = true\nrequired = true\n")
    warm = WarmHome(home)
    try:
        await warm.learn()
        (home.project / "broken").touch()
        done = await asyncio.to_thread(
            home.run, "serve", "--config", "mcp-host.toml", "--warm", stdin=""
        )
    finally:
        warm.end()

    assert done.code == 3
    assert "error: " in done.err and "no" in done.err


async def test_sessions_that_share_a_pack_with_no_other_begin_and_end_at_the_same_time(
    warm: WarmHome,
) -> None:
    warm.home.add_pack("alone", ANSWERS)
    warm.home.write(warm_home.SETTINGS + "[packs.alone]\nenabled = true\n")
    await warm.learn()

    async def session(_: int) -> int:
        async with warm.stdio() as client:
            await client.value("alone_answer")
            served_by: int = await client.value("probe_process")
            await client.end_input()
            return served_by

    served_by = [*await asyncio.gather(*map(session, range(6)))]

    (host,) = warm.hosts()
    assert served_by == [host["process"]] * len(served_by)
    assert warm.alone() == ""
    await asyncio.to_thread(eventually, lambda: warm.hosts()[0]["hosts"] == [])
    (log,) = warm.place.glob("*.log")
    assert "ERROR" not in log.read_text()


@pytest.mark.torture
async def test_changed_settings_are_another_host_for_new_sessions(warm: WarmHome) -> None:
    await warm.learn()
    async with warm.stdio() as old:
        assert await old.value("probe_count") == 1
        warm.home.write("[host]\npage_size = 900\n" + warm_home.SETTINGS)
        await warm.learn()
        async with warm.stdio() as new:
            counts = [await new.value("probe_count"), await old.value("probe_count")]
            processes = [await each.value("probe_process") for each in (new, old)]

    assert counts == [1, 2]
    assert processes[0] == processes[1]


@pytest.mark.torture
async def test_an_edited_pack_is_another_process_and_old_sessions_go_on(warm: WarmHome) -> None:
    await warm.learn()
    async with warm.stdio() as old:
        before = await old.value("probe_process")
        file = next(warm.home.folder.glob("packs/*/probe_pack_plugin.py"))
        file.write_text(file.read_text() + "\nEDITED = True\n")
        await warm.learn()
        async with warm.stdio() as new:
            after = await new.value("probe_process")
        assert await old.value("probe_process") == before

    assert before != after


@pytest.mark.torture
async def test_twenty_fronts_at_once_make_one_host(warm: WarmHome) -> None:
    await warm.learn()

    async def one() -> Any:
        async with warm.stdio(protocol="2026-07-28") as client:
            return await client.value("probe_process")

    served_by = set(await asyncio.gather(*(one() for _ in range(20))))

    assert served_by == {host["process"] for host in warm.hosts()}
    assert len(served_by) == 1


@pytest.mark.torture
async def test_after_a_while_without_sessions_the_host_leaves(warm: WarmHome) -> None:
    warm.more["MCP_HOST_WARM_IDLE"] = "0.2"
    await warm.learn()
    async with warm.stdio() as client:
        await client.value("probe_count")
        assert len(warm.hosts()) == 1

    await asyncio.to_thread(eventually, lambda: warm.hosts() == [])


@pytest.mark.torture
async def test_a_stopped_host_ends_with_its_last_session(warm: WarmHome) -> None:
    await warm.learn()
    async with warm.stdio() as old:
        before = await old.value("probe_process")
        done = await asyncio.to_thread(warm.home.run, "warm", "stop")
        assert f"process {before} takes no more sessions" in done.out
        async with warm.stdio() as new:
            assert await new.value("probe_process") != before
        assert await old.value("probe_process") == before

    await asyncio.to_thread(eventually, lambda: has_ended(before))


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
async def test_after_a_restart_another_host_goes_on_with_a_session(
    warm: WarmHome, protocol: str
) -> None:
    await warm.learn()
    async with warm.stdio(protocol=protocol) as client:
        before = await client.value("probe_process")
        await asyncio.to_thread(warm.home.run, "warm", "restart")
        await asyncio.to_thread(eventually, lambda: has_ended(before))

        assert await client.value("probe_process") != before


@pytest.mark.torture
async def test_a_front_passes_on_that_settings_are_to_be_read_again(warm: WarmHome) -> None:
    await warm.learn()
    warm.home.write(warm_home.SETTINGS + "[packs.probe.tools.say]\nhidden = true\n", "new.toml")

    async with warm.stdio() as client:
        before = await client.value("probe_process")
        (warm.home.project / "new.toml").replace(warm.home.project / "mcp-host.toml")
        client.process.send_signal(signal.SIGUSR1)
        await client.notified("notifications/tools/list_changed")
        assert "probe_say" not in {tool["name"] for tool in await client.tools()}
        assert await client.value("probe_process") == before


async def test_a_front_imports_nothing_that_takes_long_or_much(warm: WarmHome) -> None:
    await warm.learn()
    program = "from mcp_host.__main__ import main; main()"
    python = [sys.executable, "-P", "-X", "importtime", "-c", program]
    done = await asyncio.to_thread(
        subprocess.run,
        [*python, "serve", "--config", "mcp-host.toml", "--warm"],
        cwd=warm.home.project,
        env=warm.home.environment(),
        input=b"",
        capture_output=True,
        check=True,
    )

    imported = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "mcp_host.startup.warm.front" in imported
    assert not imported & {"collections", "contextlib", "enum", "json", "pathlib", "re", "typing"}


@pytest.mark.torture
async def test_status_and_logs_tell_of_the_hosts(warm: WarmHome) -> None:
    assert "no warm host" in warm.home.run("warm", "status").out
    await warm.learn()

    async with warm.stdio() as client:
        process = await client.value("probe_process")
        told = (await asyncio.to_thread(warm.home.run, "warm", "status", "--json")).json
        shown = (await asyncio.to_thread(warm.home.run, "warm", "status")).out

    assert [host["process"] for host in told["hosts"]] == [process]
    assert f"process {process}" in shown and "1 session" in shown and "probe ready" in shown
    assert warm.home.run("warm", "logs").code == 0


UNDECLARED = '''
import os
from mcp_host import hookimpl, tool


@tool
def here(variable: str) -> list[str]:
    """Tell a variable, the folder and the process."""
    return [os.environ.get(variable, ""), os.getcwd(), str(os.getpid())]


@hookimpl
def mcp_host_tools():
    return [here]
'''


async def test_a_pack_that_declares_no_reads_has_a_child_for_each_session(warm: WarmHome) -> None:
    warm.home.add_pack("other", UNDECLARED)
    warm.home.write(warm_home.SETTINGS + "[packs.other]\nenabled = true\n")
    await warm.learn()

    one, two = ({"PROBE_OTHER": value} for value in ("one", "two"))
    async with warm.stdio(env=one) as first, warm.stdio(env=two) as second:
        told = [
            await client.value("other_here", variable="PROBE_OTHER") for client in (first, second)
        ]
        assert len(warm.hosts()) == 1, warm.alone()
        (host,) = warm.hosts()
        assert len(host["sessions"]) == 2

    folder = str(warm.home.project)
    assert [each[:2] for each in told] == [["one", folder], ["two", folder]]
    assert len({each[2] for each in told} | {str(host["process"])}) == 3
    gone = [int(each[2]) for each in told]
    await asyncio.to_thread(eventually, lambda: all(map(has_ended, gone)))


@pytest.mark.torture
@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_programs_get_the_variables_of_the_session_that_calls(
    warm: WarmHome, isolation: str
) -> None:
    warm.home.write(f'{warm_home.SETTINGS}isolation = "{isolation}"\n')
    await warm.learn()

    one, two = ({"PROBE_CHILD": value, "SSH_AUTH_SOCK": value} for value in ("one", "two"))
    async with warm.stdio(env=one) as first, warm.stdio(env=two) as second:
        told = [await client.value("probe_child_variables") for client in (first, second, first)]
        assert len(warm.hosts()) == 1, warm.alone()

    assert told == [["one", "one"], ["two", "two"], ["one", "one"]]


async def test_sessions_follow_a_settings_file_that_is_reloaded(warm: WarmHome) -> None:
    await warm.learn()
    async with warm.stdio() as client:
        process = await client.value("probe_process")
        warm.home.write('[host]\nexpose = "search"\n' + warm_home.SETTINGS)
        warm.home.run("trust", "mcp-host.toml")

        told = warm.home.run("reload", "--json").json["processes"]

        assert [(one["process"], one["hosts"][0]["reloaded"]) for one in told] == [(process, True)]
        await client.notified("notifications/tools/list_changed")
        assert "host_search" in {tool["name"] for tool in await client.tools()}


WANTED = {"MCP_HOST_WARM": "1"}
TELLS = """
from mcp_host import Context, Extension, Needs, hookimpl, tool

STORM = "notifications/com.example/storm"


@tool(read_only=True)
def storm(context: Context, place: str) -> str:
    '''Tell of a storm.'''
    context.notify(STORM, {"place": place})
    return "told"


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=())


@hookimpl
def mcp_host_tools():
    return [storm]


@hookimpl
def mcp_host_extensions():
    return [Extension("com.example/weather", {}, [], [], sends=[STORM])]
"""


class Knowing:
    """A client that has the extension."""

    capabilities: Mapping[str, Any] = {"extensions": {"com.example/weather": {}}}

    def answer(self, question: Any) -> Any:
        raise AssertionError(question)


@pytest.mark.parametrize("protocol", ONE_ERA)
async def test_what_a_pack_tells_and_what_calls_have_cost_is_that_of_a_session(
    warm: WarmHome, protocol: str
) -> None:
    warm.home.add_pack("tells", TELLS)
    warm.home.write(warm_home.SETTINGS + "[packs.tells]\nenabled = true\n")
    await warm.learn()

    async def costs(client: StdioClient) -> str:
        read = await client.request("resources/read", {"uri": "host://usage"})
        return str(json.loads(read["contents"][0]["text"])["answers"])

    how: dict[str, Any] = {"protocol": protocol, "person": Knowing()}
    async with warm.stdio(**how) as one, warm.stdio(**how) as two:
        assert await one.value("tells_storm", place="Oslo") == "told"
        await two.value("probe_process")
        told = [[n for n in c.notifications if "storm" in n["method"]] for c in (one, two)]
        cost = [await costs(one), await costs(two)]
        (host,) = warm.hosts()
        about = warm.home.run("doctor", "--config", "mcp-host.toml", "--json", env=WANTED).json

    assert [len(each) for each in told] == [1, 0]
    assert told[0][0]["params"]["place"] == "Oslo"
    assert ("tells_storm" in cost[0], "tells_storm" in cost[1]) == (True, False)
    assert len(host["sessions"]) == 2
    assert "1 running, with 2 sessions" in about["warm"]
    assert str(host["process"]) in str(about["running"])


WATCHES = """
from contextlib import asynccontextmanager

from mcp_host import Needs, hookimpl, resource, tool


@tool(read_only=True)
def watched(pack, /) -> list[str]:
    '''Tell what is watched.'''
    return sorted(pack.watched)


@resource("paper://{name}")
def paper(name: str) -> str:
    '''A paper.'''
    return name


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=())


@hookimpl
def mcp_host_open(settings, pack):
    @asynccontextmanager
    async def opened():
        yield pack

    return opened()


@hookimpl
def mcp_host_tools():
    return [watched]


@hookimpl
def mcp_host_resources():
    return [paper]
"""


async def test_a_pack_knows_what_all_sessions_watch_until_each_of_them_ends(
    warm: WarmHome,
) -> None:
    warm.home.add_pack("papers", WATCHES)
    warm.home.write("[packs.papers]\nenabled = true\n")
    await warm.learn()

    async with warm.stdio() as one:
        await one.request("resources/subscribe", {"uri": "paper://one"})
        async with warm.stdio() as two:
            await two.request("resources/subscribe", {"uri": "paper://one"})
            await two.request("resources/subscribe", {"uri": "paper://two"})
            assert await one.value("papers_watched") == ["paper://one", "paper://two"]
        (host,) = warm.hosts()
        async with asyncio.timeout(warm_home.LONGEST):
            while await one.value("papers_watched") != ["paper://one"]:
                pass
        await asyncio.to_thread(warm.home.run, "warm", "restart")
        await asyncio.to_thread(eventually, lambda: has_ended(host["process"]))

        assert await one.value("papers_watched") == ["paper://one"]


@pytest.mark.parametrize("protocol", ERAS)
async def test_a_request_that_is_too_long_is_told_so_by_its_id(
    warm: WarmHome, protocol: str
) -> None:
    await warm.learn()
    arguments = {"length": 1, "fill": "x" * 5_000_000}

    async with warm.stdio(protocol=protocol) as client:
        first = await client.raw_request(
            "tools/call", {"name": "probe_large", "arguments": arguments}
        )
        await client.value("probe_process")
        later = await client.raw_request(
            "tools/call", {"name": "probe_large", "arguments": arguments}
        )
        served_by = await client.value("probe_process")

    for answer in (first, later):
        assert answer["error"]["code"] == -32600
        assert "of 4194304 that max_message_bytes of [host] allows" in answer["error"]["message"]
    assert [host["process"] for host in warm.hosts()] == [served_by]
