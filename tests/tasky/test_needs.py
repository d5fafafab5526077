"""Tasky declares every variable that it reads while a plan is served."""

from pathlib import Path

import pytest
from mcp_host.testing import environment_reads, hosted
from test_server import make, variables

pytestmark = pytest.mark.anyio
PLUGIN = "mcp_host_tasky.plugin"


async def test_no_variable_is_read_that_is_not_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables(tmp_path, TASKY_STORAGE__BACKEND="sqlite").items():
        monkeypatch.setenv(name, value)
    folder = make(tmp_path)

    with environment_reads(PLUGIN) as reads:
        async with hosted({"tasky": PLUGIN}, root=folder) as host:
            await host.value("tasky_create_tasks", tasks=[{"name": "Bread"}])
            await host.value("tasky_project_info")

    assert "TASKY_STORAGE__BACKEND" in reads.names
    assert reads.undeclared == ()
