"""What a client waits for at every start: nothing that only an open plan needs."""

import subprocess
import sys

ENGINE = (
    "asyncio",
    "filelock",
    "logging",
    "mcp",
    "psycopg",
    "sqlite3",
    "mcp_host_tasky.model",
    "mcp_host_tasky.service.service",
    "mcp_host_tasky.opening",
    "mcp_host_tasky.service.tasks",
    "mcp_host_tasky.storage",
)
LISTS = """
import mcp_host_tasky.plugin as pack
pack.mcp_host_settings()(), pack.mcp_host_instructions(), pack.mcp_host_errors()
for all_of_a_kind in (pack.mcp_host_tools, pack.mcp_host_resources, pack.mcp_host_prompts):
    [each.listed(each.name, str) for each in all_of_a_kind()]
"""
ALONE = "from tasky_mcp_server.__main__ import main; import mcp_host_tasky.server"


def loaded_by(program: str, *names: str) -> list[str]:
    """Those of the modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", told], text=True).split()
    return sorted(set(names).intersection(loaded))


def test_a_pack_that_is_only_listed_imports_nothing_of_how_a_plan_is_kept() -> None:
    assert loaded_by(LISTS, "mcp_host_tasky.tools", *ENGINE) == ["mcp_host_tasky.tools"]


def test_a_server_alone_imports_nothing_of_the_pack_before_the_saved_catalogue_is_read() -> None:
    parts = ("mcp_host_tasky.errors", "mcp_host_tasky.settings", "mcp_host_tasky.plugin")

    assert loaded_by(ALONE, "importlib.metadata", "pydantic", *parts, *ENGINE) == []
