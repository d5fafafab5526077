"""The lists wait for what the pack imports when it is loaded: only what its declarations need."""

import subprocess
import sys

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
from mcp_host_cortex_tasks import plugin

settings = plugin.mcp_host_settings()()
assert plugin.mcp_host_tools(settings)
assert plugin.mcp_host_resources() and plugin.mcp_host_prompts()
assert plugin.mcp_host_instructions() and plugin.mcp_host_acts_as()
assert plugin.mcp_host_errors() and plugin.mcp_host_checks(settings)
"""


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys; print(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", told], text=True).split())


def of_the_pack(loaded: set[str]) -> set[str]:
    package = "mcp_host_cortex_tasks."
    return {name.removeprefix(package) for name in loaded if name.startswith(package)}


def test_loading_the_pack_imports_its_declarations_alone_and_no_event_loop() -> None:
    loaded = loaded_by(LOAD)

    assert of_the_pack(loaded) == DECLARATIONS
    assert "asyncio" not in loaded


def test_a_server_alone_imports_nothing_else_before_the_saved_catalogue_is_read() -> None:
    loaded = loaded_by("import cortex_mcp.server")

    assert of_the_pack(loaded) == {"server"}
    assert loaded.isdisjoint({"importlib.metadata", "pydantic", "asyncio"})
