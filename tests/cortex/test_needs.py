"""Cortex declares what it reads, and what ctx and git get of the environment."""

import pytest
from cortex_lab import Ctx, Repo
from mcp_host.testing import environment_reads, hosted

pytestmark = pytest.mark.anyio
PLUGIN = "mcp_host_cortex_tasks.plugin"


async def test_no_variable_is_read_that_is_not_declared(
    ctx: Ctx, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(ctx.home))
    monkeypatch.setenv("CORTEX_HOME", str(ctx.home / ".cortex"))
    with environment_reads(PLUGIN) as reads:
        async with hosted({"cortex": PLUGIN}, root=repo.folder) as host:
            assert (await host.value("cortex_list_tasks"))["total"] == 0

    assert "CORTEX_HOME" in reads.names
    assert reads.undeclared == ()
