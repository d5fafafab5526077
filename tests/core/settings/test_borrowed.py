"""What is known of pydantic's inside, name by name, in the pydantic that is installed."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from mcp_host.settings.borrowed import GROUP, LOADER, SHAPES

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


QUICKLY = """
import dataclasses, sys, typing, typing_extensions
usual = typing.TypedDict, typing_extensions.TypedDict, getattr(dataclasses, "_create_fn", None)
from mcp_host.settings.borrowed import import_pydantic
import_pydantic()
now = typing.TypedDict, typing_extensions.TypedDict, getattr(dataclasses, "_create_fn", None)
assert now == usual
"""
USED = """
import copy, pickle
from typing import Annotated
import pydantic_core, annotated_types
from pydantic import BaseModel, Field, SecretStr, TypeAdapter, ValidationError
from pydantic import dataclasses as models
from pydantic_core import core_schema

class City(BaseModel):
    name: Annotated[str, Field(min_length=1, description="Its name")]
    streets: list[Annotated[int, annotated_types.Interval(gt=1, le=9)]] = []

@models.dataclass(frozen=True)
class Place:
    x: int

print(City(name="Ur", streets=[2]).model_dump_json(), City.model_json_schema())
print(repr(Place("3")), Place(3) == Place(3), hash(Place(3)) == hash(Place(3)))
one, other = annotated_types.Gt(1), annotated_types.Gt(1)
print(repr(one), one == other, hash(one) == hash(other), one != annotated_types.Gt(2), one == 1)
print(copy.deepcopy(one) == one, pickle.loads(pickle.dumps(one)) == one)
try:
    one.gt = 2
except Exception as error:
    print(type(error).__name__, error)
print(core_schema.CoreConfig(title="a") == {"title": "a"}, type(core_schema.CoreConfig()))
print(sorted(core_schema.IntSchema.__annotations__))
print(SecretStr("one") == SecretStr("one"), SecretStr("one") == SecretStr("two"))
import platform, secrets, uuid
print(platform.__file__, platform.system(), secrets.__file__, uuid.UUID(int=1))
print(TypeAdapter(list[pydantic_core.ErrorDetails]).json_schema())
try:
    City(name="", streets=[1])
except ValidationError as error:
    print(error.errors(include_url=False))
"""


def test_pydantic_imported_quickly_does_the_same() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", how + USED], capture_output=True, text=True, check=True
        ).stdout
        for how in ("", QUICKLY)
    ]

    assert said[0] == said[1]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="later versions compile all at once")
def test_methods_of_dataclasses_are_compiled_by_the_function_of_this_name() -> None:
    program = (
        f"{QUICKLY}\nimport annotated_types\nprint(annotated_types.Gt.__eq__.__code__.co_name)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "method\n", done.stderr


def test_the_shapes_are_in_the_module_of_this_name() -> None:
    program = f"{QUICKLY}\nimport {SHAPES} as shapes\nprint(type(shapes.IntSchema).__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "_ShapeType\n", done.stderr
