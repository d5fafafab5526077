"""OpenSpec declares every variable that it reads while it serves a tree."""

from pathlib import Path

import pytest
from mcp_host.testing import environment_reads, hosted

pytestmark = pytest.mark.anyio
PLUGIN = "mcp_host_openspec.plugin"


async def test_no_variable_is_read_that_is_not_declared(shop: Path) -> None:
    with environment_reads(PLUGIN) as reads:
        async with hosted({"openspec": PLUGIN}, root=shop) as host:
            await host.value("openspec_list")
            await host.value("openspec_validate")
            await host.read("openspec://specs")

    assert "HOME" in reads.names
    assert reads.undeclared == ()
