"""The audit: who called what and how it ended, never what was said."""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host import Caller
from mcp_host.middleware.audit_file import AuditFile
from mcp_host.testing import CallFailed, StdioClient, hosted

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
ANN = Caller(subject="ann", scopes=frozenset({"sample:read"}), client="probe", connection="c1")
SECRET = "a text that nobody else may read"


def audited(path: Path, **more: Any) -> dict[str, Any]:
    return {"host": {"audit": str(path), **more}}


def records(*files: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


async def fails(call: Any) -> None:
    with pytest.raises(CallFailed):
        await call


async def test_every_call_is_recorded_with_who_what_how_and_the_shapes_of_its_arguments(
    tmp_path: Path,
) -> None:
    file = tmp_path / "kept" / "audit.jsonl"
    async with hosted(SAMPLE, audited(file)) as host:
        ann = host.seen_by(ANN)
        await ann.value("sample_echo", text=SECRET, number=7, data=[SECRET, SECRET])
        await fails(ann.value("sample_hold", gate=SECRET))
        await fails(ann.value("sample_ecco", secret=SECRET))
        await ann.read("sample://one/" + "Rome")

    echo, hold, unknown, read = records(file)
    assert {"caller": "ann", "client": "probe", "session": "c1"}.items() <= echo.items()
    assert (echo["pack"], echo["tool"], echo["outcome"], echo["code"]) == (
        "sample",
        "sample_echo",
        "ok",
        "ok",
    )
    assert echo["arguments"] == {
        "text": f"string {len(SECRET)}",
        "number": "integer",
        "data": "array 2",
    }
    assert echo["argument_bytes"] > 3 * len(SECRET)
    assert echo["answer_bytes"] > 3 * len(SECRET)
    assert echo["ms"] > 0
    assert (hold["outcome"], hold["code"]) == ("error", "permission_denied")
    assert (unknown["tool"], unknown["pack"], unknown["code"]) == ("sample_ecco", None, "not_found")
    assert unknown["arguments"] == {"?": "1 undeclared"}
    assert read["resource"] == "sample://one/{name}"
    assert SECRET not in file.read_text()
    assert "Rome" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


async def test_ten_thousand_calls_leave_whole_lines_in_the_files_that_are_kept(
    tmp_path: Path,
) -> None:
    file = tmp_path / "audit.jsonl"
    async with hosted(SAMPLE, audited(file, audit_max_bytes=100_000, audit_keep=3)) as host:
        for _ in range(100):
            calls = (host.value("sample_echo", text="x" * n) for n in range(100))
            await asyncio.gather(*calls)

    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["audit.jsonl", *(f"audit.jsonl.{n}" for n in (1, 2, 3))]
    lengths = [path.stat().st_size for path in tmp_path.iterdir()]
    assert max(lengths) < 100_000 + 256 * 1024
    newest = records(*(file.with_name(f"audit.jsonl.{n}") for n in (3, 2, 1)), file)
    assert len(newest) > 300
    assert all(record["code"] == "ok" for record in newest)


def test_two_hosts_may_share_a_file_and_no_line_is_lost_or_broken(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    hosts = [AuditFile(file, 4096, 1000) for _ in range(4)]
    for number in range(500):
        for place, host in enumerate(hosts):
            host.write(json.dumps({"host": place, "number": number}).encode() + b"\n")
    for host in hosts:
        host.close()

    found = records(*tmp_path.iterdir())
    assert len(found) == 2000
    assert {(each["host"], each["number"]) for each in found} == {
        (place, number) for place in range(4) for number in range(500)
    }


async def echoes(client: StdioClient, count: int) -> None:
    for _ in range(count):
        assert (await client.call("sample_echo", text="x"))["structuredContent"]["text"] == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="a limit is set to another process")
async def test_a_full_disk_stops_no_call_leaves_whole_lines_and_is_said_once(
    machine: "Machine",
) -> None:
    file = machine.folder / "audit.jsonl"
    settings = '[host]\naudit = "audit.jsonl"\n[packs.sample]\n'
    async with machine.serve(settings) as client:
        await echoes(client, 3)
        while not (file.exists() and len(records(file)) >= 3):
            await client.call("sample_echo")
        size = file.stat().st_size
        resource.prlimit(client.process.pid, resource.RLIMIT_FSIZE, (size, -1))
        await echoes(client, 20)
        while "cannot be written" not in client.stderr:
            await echoes(client, 1)
        resource.prlimit(client.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        while "is written again" not in client.stderr:
            await echoes(client, 1)

    assert client.stderr.count("cannot be written: File too large") == 1
    assert all(record["code"] == "ok" for record in records(file))
