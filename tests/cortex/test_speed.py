"""ctx tasks list starts fast: what it may not import. `benchmarks/cortex.py` has what it costs."""

import subprocess
import sys

import pytest
from cortex_lab import Ctx

COSTLY = (
    "git",
    "httpx2",
    "rich",
    "typer",
    "pydantic",
    "sqlalchemy",
    "keyring",
    "mcp_host",
    "asyncio",
)


@pytest.fixture(params=["local", "http"])
def listing(request: pytest.FixtureRequest) -> Ctx:
    ctx: Ctx = request.getfixturevalue("ctx" if request.param == "local" else "online")
    for count in range(3):
        ctx.new(f"Task {count}")
    return ctx


def test_a_list_imports_nothing_that_is_costly(listing: Ctx) -> None:
    code = (
        "import sys; from mcp_host_cortex_tasks.cli import main;"
        f" main(['tasks', 'list', '--json']); print([m for m in {COSTLY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=listing.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
