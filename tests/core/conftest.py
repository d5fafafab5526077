"""Hosts for the core's tests: they serve the packs of `tests/packs`, installed or in process."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mcp_host.testing
import pytest
from mcp_host.testing import StdioClient, stdio_client

sys.path.insert(0, str(Path(__file__).parent))  # the helper module beside this file

import core_home

home, make_home = core_home.home, core_home.make_home

PACKS = Path(__file__).parents[1] / "packs"
SAMPLE = "[packs.sample]\nenabled = true\n"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def sample_packs_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sample", "misbehaving", "desk"):
        monkeypatch.syspath_prepend(PACKS / name)


@pytest.fixture(params=["thread", "process"])
def hosted(request: pytest.FixtureRequest) -> core_home.Hosting:
    """Makes hosts whose packs live in threads, and then in processes of their own."""
    return partial(mcp_host.testing.hosted, isolation=request.param)


@pytest.fixture
def hosted_in_threads() -> core_home.Hosting:
    """As `hosted`, for tests that look at the objects of a pack."""
    return mcp_host.testing.hosted


@dataclass
class Machine:
    """A folder with a settings file, and an environment in which some sample packs are installed.

    Nothing of the developer's own settings or data is seen.
    """

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "mcp-host.toml"

    def settings(self, text: str) -> list[str]:
        """Write the settings file; the command line that serves it."""
        self.config.write_text(text)
        return self.command("serve")

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "mcp_host", *words, "--config", str(self.config)]

    def environment(self, packs: Sequence[str] = ("sample", "misbehaving")) -> dict[str, str]:
        home = {
            f"XDG_{kind}_HOME": str(self.folder / kind.lower())
            for kind in ("CONFIG", "DATA", "CACHE", "STATE")
        }
        installed = os.pathsep.join(str(PACKS / name) for name in packs)
        asyncio_loop = {"MCP_HOST_UVLOOP": "0"}  # unless told otherwise
        own = {"PYTHONPATH": installed, "PYTHONDONTWRITEBYTECODE": "1"}
        return {**asyncio_loop, **os.environ, **home, **own}

    def serve(
        self,
        settings: str = SAMPLE,
        *,
        packs: Sequence[str] = ("sample", "misbehaving"),
        **options: Any,
    ) -> AbstractAsyncContextManager[StdioClient]:
        """A host process on stdio and its client."""
        return stdio_client(self.settings(settings), environment=self.environment(packs), **options)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
async def serving(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[dict[str, StdioClient]]:
    """One host process for each protocol era, for tests that leave it as it was."""
    machine = Machine(tmp_path_factory.mktemp("serving"))
    async with (
        machine.serve(protocol="2025-11-25") as handshake,
        machine.serve(protocol="2026-07-28") as modern,
    ):
        yield {"2025-11-25": handshake, "2026-07-28": modern}
