"""The lists wait for what the pack imports when it is loaded: only what its declarations need."""

import subprocess
import sys
from pathlib import Path

DECLARATIONS = {
    "errors",
    "model",
    "model.uris",
    "plugin",
    "prompts",
    "resources",
    "settings",
    "tools",
}
LOAD = """
from mcp_host_openspec import plugin

settings = plugin.mcp_host_settings()()
assert plugin.mcp_host_tools()
assert plugin.mcp_host_resources() and plugin.mcp_host_prompts()
assert plugin.mcp_host_instructions() and plugin.mcp_host_acts_as()
assert plugin.mcp_host_errors()
"""


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", told], text=True).split())


def of_the_pack(loaded: set[str]) -> set[str]:
    package = "mcp_host_openspec."
    return {name.removeprefix(package) for name in loaded if name.startswith(package)}


def test_loading_the_pack_imports_its_declarations_alone_and_no_event_loop() -> None:
    loaded = loaded_by(LOAD)

    assert of_the_pack(loaded) == DECLARATIONS
    assert "asyncio" not in loaded


def test_a_server_alone_imports_nothing_of_the_pack_before_the_saved_catalogue_is_read() -> None:
    loaded = loaded_by("import mcp_host_openspec.server")

    assert of_the_pack(loaded) == {"server"}
    assert loaded.isdisjoint({"importlib.metadata", "pydantic", "asyncio"})


def test_a_command_that_reads_imports_neither_the_library_for_yaml_nor_what_defines_slowly(
    shop: Path,
) -> None:
    told = "import sys\nfrom mcp_host_openspec.cli import main\nmain(['list', '--json'])"
    loaded = loaded_by(f"import os\nos.chdir({str(shop)!r})\n{told}")

    assert "mcp_host_openspec.service.openspec" in loaded
    assert loaded.isdisjoint({"yaml", "inspect", "socket", "subprocess", "sqlite3", "pydantic"})
    assert of_the_pack(loaded).isdisjoint({"service.service", "service.search", "storage.yaml12"})


def test_opening_the_pack_imports_neither_what_watches_nor_the_library_for_yaml() -> None:
    loaded = loaded_by("import mcp_host_openspec.opening")

    assert loaded.isdisjoint({"watchfiles", "anyio", "yaml"})
