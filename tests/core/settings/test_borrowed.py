"""What is known of pydantic's inside, name by name, in the pydantic that is installed."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from mcp_host.settings.borrowed import GROUP, LOADER

SCRIPT = """
import sys
from mcp_host.settings.borrowed import spare_plugin_search
spare_plugin_search()
from pydantic import TypeAdapter
assert TypeAdapter(int).validate_python(1) == 1
print("importlib.metadata" in sys.modules, "made_plugin" in sys.modules)
"""
PLUGIN = """
class Plugin:
    def new_schema_validator(self, *args):
        return None, None, None
plugin = Plugin()
"""


def run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_loader_is_where_pydantic_has_it() -> None:
    loader = import_module(LOADER)

    assert list(loader.get_plugins()) == []
    if hasattr(loader, "PYDANTIC_ENTRY_POINT_GROUP"):  # the real one, not ours
        assert loader.PYDANTIC_ENTRY_POINT_GROUP == GROUP


def test_without_plugins_pydantic_checks_and_searches_nothing(tmp_path: Path) -> None:
    assert run(tmp_path) == "False False"


def test_an_installed_plugin_is_loaded_as_always(tmp_path: Path) -> None:
    (tmp_path / "made_plugin.py").write_text(PLUGIN)
    info = tmp_path / "made_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nmade = made_plugin:plugin\n")

    assert run(tmp_path) == "True True"
