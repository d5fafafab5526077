"""ctx tasks list starts fast: what it may not import, and what it may cost."""

import resource
import subprocess
import sys

import pytest
from cortex_lab import Ctx

LIMIT = 0.150
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


def cpu_of(ctx: Ctx) -> float:
    """The processor seconds of one `ctx tasks list --json`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = ctx.run_process("tasks", "list", "--json", at=ctx.home)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(run.data["tasks"]) == 3
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_list_costs_at_most_150_ms_of_the_processor(listing: Ctx) -> None:
    assert min(cpu_of(listing) for _ in range(4)) <= LIMIT


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
