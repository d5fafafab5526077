"""The host under test, with the conformance pack and nothing else."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

PACK = Path(__file__).resolve().parent.parent / "packs" / "conformance"
ADDRESS = re.compile(r"https?://(127\.0\.0\.1:\d+)/mcp")
LONGEST_START = 30.0
LONGEST_STOP = 10.0


class HostFailed(Exception):
    """The host did not start, or did not end as it should; the text holds its log."""


SETTINGS = PACK / "mcp-host.toml"
EXTENSIONS = PACK / "extensions.toml"
"""The same, and the distributions that serve extensions of the protocol."""


def command(transport: str, settings: Path = SETTINGS) -> list[str]:
    """How the host is started; the port over HTTP is a free one."""
    serve = [sys.executable, "-m", "mcp_host", "serve", "--config", str(settings)]
    return [*serve, "--transport", transport, *(["--port", "0"] if transport == "http" else [])]


def environment(scratch: Path) -> dict[str, str]:
    """The pack is found on the path, so nothing has to be installed; nothing of the user's counts.

    What the host keeps goes to `scratch`.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("MCP_HOST")}
    kept = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    loop = {"MCP_HOST_UVLOOP": os.environ.get("MCP_HOST_UVLOOP", "0")}  # asyncio's unless told
    loop["MCP_HOST_WARM"] = "0"  # as well
    return own | loop | {"PYTHONPATH": str(PACK)} | dict.fromkeys(kept, str(scratch))


@asynccontextmanager
async def over_http(
    environment: Mapping[str, str], settings: Path = SETTINGS
) -> AsyncIterator[str]:
    """Serve on a free loopback port; yields the address (`127.0.0.1:port`). Raises `HostFailed`."""
    process = await asyncio.create_subprocess_exec(
        *command("http", settings),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    log: list[str] = []
    started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    reading = asyncio.create_task(_read(process, log, started))
    try:
        yield await asyncio.wait_for(started, LONGEST_START)
        if process.returncode is not None:
            raise HostFailed(
                f"the host ended by itself, exit code {process.returncode}\n{''.join(log[-30:])}"
            )
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), LONGEST_STOP)
        if code != 0:
            raise HostFailed(f"the host ended with exit code {code}\n{''.join(log[-30:])}")
    except TimeoutError:
        raise HostFailed(f"the host did not start or end in time\n{''.join(log[-30:])}") from None
    finally:
        if process.returncode is None:
            process.kill()
        await reading


@asynccontextmanager
async def warm(environment: Mapping[str, str]) -> AsyncIterator[dict[str, str]]:
    """An environment in which the warm host serves, which ends with this.

    A session was served alone before, so there is a saved catalogue. Raises `HostFailed` where one
    was served alone after it.
    """
    asked = {**environment, "MCP_HOST_WARM": "1"}
    try:
        yield asked
        status = await _said(["warm", "status", "--json"], asked)
    finally:
        await _said(["warm", "restart"], asked)
    told = json.loads(status)
    if told["alone"] or len(told["hosts"]) != 1:
        logs = Path(environment["XDG_CACHE_HOME"], "mcp-host", "warm").glob("*.log")
        raise HostFailed(
            f"not every session was served by the one warm host: {status}\n"
            + "\n".join(log.read_text() for log in logs)
        )


async def _said(arguments: list[str], environment: Mapping[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mcp_host", *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    return said.decode()


async def _read(
    process: asyncio.subprocess.Process, log: list[str], started: asyncio.Future[str]
) -> None:
    assert process.stderr
    async for line in process.stderr:
        log.append(line.decode())
        if not started.done() and (found := ADDRESS.search(log[-1])):
            started.set_result(found[1])
    await process.wait()
    if not started.done():
        started.set_exception(HostFailed(f"the host did not start\n{''.join(log[-30:])}"))
