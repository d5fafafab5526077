"""The directions of docs/explanation/architecture.md, read from the folders."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest
from mcp_host.packs.hooks import HOOKS

ROOT = Path(__file__).parents[2]
PLUGINS = sorted((ROOT / "plugins").iterdir())
SDK = {"mcp", "mcp_types"}
HEAVY = {*SDK, "sqlalchemy", "rich", "typer", "uvicorn"}
RANKS = {
    "plugin": 5,
    "tools": 4,
    "resources": 4,
    "prompts": 4,
    "service": 3,
    "storage": 2,
    "model": 1,
    "errors": 1,
}
DOMAIN = {"service", "storage", "model", "errors"}
CORE_RANKS = {
    "__main__": 11,
    "": 10,  # the public API, whose names are loaded when they are used
    "cli": 10,
    "testing": 9,
    "standalone": 9,
    "serving": 8,
    "host": 7,
    "middleware": 6,
    "runtime": 5,
    "packs": 4,
    "hookspecs": 3,
    "declarations": 2,
    "settings": 2,
    "clients": 2,
    "errors": 1,
    "startup": 0,
}


def packages(folder: Path) -> list[str]:
    """The import packages of a distribution, thin ones that only keep an old name included."""
    found = (folder / "src").iterdir()
    return sorted(path.name for path in found if (path / "__init__.py").exists())


def has_pack(folder: Path) -> bool:
    """Whether a distribution has a pack; others bring commands, workers or extensions."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return "mcp_host.packs" in project.get("entry-points", {})


FOUND = {folder.name: packages(folder) for folder in PLUGINS if (folder / "src").is_dir()}
PACKS = {name: found for name, found in FOUND.items() if has_pack(ROOT / "plugins" / name)}
BESIDE = {name: found for name, found in FOUND.items() if name not in PACKS}
CLIENTS = {"mount"}
"""Distributions that import the SDK, for its client."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    everything = [package for found in FOUND.values() for package in found]
    return grimp.build_graph("mcp_host", *everything, include_external_packages=True)


def imports(graph: grimp.ImportGraph, *tops: str) -> Iterator[tuple[str, str]]:
    """Every import in these packages: who, and what."""
    for module in sorted(graph.modules):
        if module.partition(".")[0] in tops:
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                yield module, imported


def top(module: str) -> str:
    return module.partition(".")[0]


def room(module: str) -> str:
    """The part of a package that a module belongs to: `tasky.storage.files` is in `storage`."""
    return module.partition(".")[2].partition(".")[0]


def test_every_pack_of_the_folder_is_looked_at(graph: grimp.ImportGraph) -> None:
    assert set(PACKS) == {
        "cortex_tasks",
        "tasky",
        "openspec",
        "todo_db",
        "extension_skills",
        "extension_tasks",
    }
    assert all(f"{found[0]}.plugin" in graph.modules or len(found) > 1 for found in PACKS.values())
    assert set(BESIDE) == {"dev", "mount"}


def test_the_rooms_of_the_core_point_one_way(graph: grimp.ImportGraph) -> None:
    upwards = [
        (module, imported)
        for module, imported in imports(graph, "mcp_host")
        if top(imported) == "mcp_host"
        and room(module) != room(imported)
        and CORE_RANKS[room(module)] <= CORE_RANKS[room(imported)]
    ]

    assert upwards == []


@pytest.mark.parametrize("name", ["core", *FOUND])
def test_no_module_leads_back_to_itself(graph: grimp.ImportGraph, name: str) -> None:
    tops = ["mcp_host"] if name == "core" else FOUND[name]
    follows: dict[str, list[str]] = {}
    for module, imported in imports(graph, *tops):
        follows.setdefault(module, []).append(imported)

    TopologicalSorter(follows).prepare()  # raises a CycleError that names the circle


def test_the_core_imports_no_pack(graph: grimp.ImportGraph) -> None:
    packs = {package for found in FOUND.values() for package in found}

    assert [pair for pair in imports(graph, "mcp_host") if top(pair[1]) in packs] == []


@pytest.mark.parametrize("name", FOUND)
def test_a_distribution_imports_no_other_one_and_of_the_host_only_the_public_api(
    graph: grimp.ImportGraph, name: str
) -> None:
    others = {package for other, found in FOUND.items() if other != name for package in found}
    kit = {"mcp_host.testing"} if name in BESIDE else set()
    sdk = SDK if name not in CLIENTS else set()

    wrong = [
        (module, imported)
        for module, imported in imports(graph, *FOUND[name])
        if top(imported) in others | sdk
        or (imported.startswith("mcp_host.") and imported not in kit)
    ]

    assert wrong == []


@pytest.mark.parametrize("pack", PACKS)
def test_the_rooms_of_a_pack_point_one_way(graph: grimp.ImportGraph, pack: str) -> None:
    upwards = [
        (module, imported)
        for module, imported in imports(graph, *PACKS[pack])
        if top(module) == top(imported)
        and RANKS.get(room(module), 9) < RANKS.get(room(imported), 0)
    ]

    assert upwards == []


@pytest.mark.parametrize("pack", PACKS)
def test_the_domain_of_a_pack_knows_neither_the_host_nor_the_protocol(
    graph: grimp.ImportGraph, pack: str
) -> None:
    wrong = [
        (module, imported)
        for module, imported in imports(graph, *PACKS[pack])
        if room(module) in DOMAIN
        and (top(imported) in {"mcp_host", *SDK} or room(imported) == "plugin")
    ]

    assert wrong == []


def test_only_the_server_and_the_transports_import_the_sdk(graph: grimp.ImportGraph) -> None:
    users = {module for module, imported in imports(graph, "mcp_host") if imported in SDK}

    assert {room(module) for module in users} == {"serving"}


BEFORE_THE_FIRST_ANSWER = {
    "__future__", "argparse", "collections", "dataclasses", "fcntl", "hashlib", "inspect", "json",
    "os", "pathlib", "select", "signal", "stat", "sys", "tempfile", "time", "typing",
    "importlib",  # for its `metadata`, where the import path has more than folders
    "_json", "_signal",  # what `json` and `signal` are made of
    "re",  # only once a line is too long to be kept
    "platformdirs",  # where the user's folders are elsewhere than on an ordinary Linux
}  # fmt: skip

OF_A_FRONT = {"_socket", "errno", "mmap"}
"""Modules written in C that only a session needs which hands its streams to the warm host."""


def test_what_runs_before_the_first_answer_imports_itself_and_a_few_named_modules(
    graph: grimp.ImportGraph,
) -> None:
    found = {
        (module, imported)
        for module, imported in imports(graph, "mcp_host")
        if room(module) == "startup" and not imported.startswith("mcp_host.startup")
    }

    allowed = {*BEFORE_THE_FIRST_ANSWER, *OF_A_FRONT}
    assert {imported for _, imported in found} == allowed
    elsewhere = {m for m, imported in found if imported in OF_A_FRONT}
    assert {module.rpartition(".")[0] for module in elsewhere} == {"mcp_host.startup.warm"}


def test_only_the_commands_import_what_is_for_people(graph: grimp.ImportGraph) -> None:
    users = {
        room(module)
        for module, imported in imports(graph, "mcp_host")
        if imported in {"rich", "typer"}
    }

    assert users == {"cli"}


def test_only_the_room_of_packs_asks_pluggys_manager(graph: grimp.ImportGraph) -> None:
    users = {module for module, imported in imports(graph, "mcp_host") if imported == "pluggy"}

    assert users == {"mcp_host.packs.hooks", "mcp_host.hookspecs"}  # which takes its markers only


def loaded_by(program: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys; print(*({HEAVY!r} & sys.modules.keys()))"
    return set(subprocess.check_output([sys.executable, "-c", told], text=True).split())


def test_the_public_api_with_all_that_is_behind_it_loads_nothing_heavy() -> None:
    assert loaded_by("import mcp_host; [getattr(mcp_host, n) for n in mcp_host.__all__]") == set()


def new_in(program: str) -> set[str]:
    """The modules that a program loads in a fresh interpreter, beyond what any program has."""
    show = "import sys; print(*sys.modules)"
    before, after = (
        subprocess.check_output([sys.executable, "-c", f"{start}\n{show}"], text=True).split()
        for start in ("", program)
    )
    return set(after) - set(before)


def test_what_stands_before_the_first_answer_imports_next_to_nothing() -> None:
    dear = {"typing", "dataclasses", "inspect", "pathlib", "argparse", "platformdirs", "tempfile"}

    assert new_in("import mcp_host.cli.serve") & {*dear, "asyncio", "logging", "pydantic"} == set()
    assert new_in("import mcp_host.standalone") & {*dear, "asyncio", "logging"} == set()


def test_what_stands_before_the_lists_imports_no_event_loop() -> None:
    assert "asyncio" not in new_in("import mcp_host.packs.inventory, mcp_host.serving.logs")


SHOW_ALL = """
from mcp_host.packs.entry import LISTS
from mcp_host.declarations.context import Caller
from mcp_host.packs import loading
from mcp_host.packs.inventory import Inventory
from mcp_host.settings.loading import parse

loading.PATIENCE = 60  # a busy machine imports no faster
inventory = Inventory(parse({"host": {"root": "."}, "packs": {NAME: {}}}, None))
inventory.load()
assert inventory.packs[NAME].declared, inventory.report()
assert any([inventory.lists.visible(what, Caller()) for what in LISTS])
"""


@pytest.mark.parametrize("pack", ["cortex", "tasky", "openspec", "todo_db"])
def test_showing_what_a_pack_has_loads_nothing_heavy(pack: str) -> None:
    assert loaded_by(SHOW_ALL.replace("NAME", repr(pack))) == set()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_and_tested(hook: str) -> None:
    reference = (ROOT / "docs" / "reference" / "hooks.md").read_text()
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "core").rglob("test_*.py"))

    assert hook in reference
    assert hook in tests


def test_every_distribution_is_for_the_pythons_that_the_readme_names() -> None:
    (tested,) = re.findall(r"\((.*) are tested\)", (ROOT / "README.md").read_text("utf-8"))
    told = re.findall(r"3\.\d+", tested)

    for file in (ROOT / "core" / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        names = [c.rpartition(" ")[2] for c in project["classifiers"] if ":: Python :: 3." in c]
        assert (project["requires-python"], names) == (f">={told[0]}", told)


LONG = 400
"""Lines of a module, from which on it should be a folder."""
ONE = "one class, whose methods are short and belong together"
LONGER = {
    "benchmarks/golden.py": "recorded answers, one after the other",
    "core/src/mcp_host/clients/known.py": "one client after the other",
    "core/src/mcp_host/host/host.py": "what a host is for; all it does is done by others",
    "core/src/mcp_host/packs/inventory.py": ONE,
    "plugins/cortex_tasks/src/mcp_host_cortex_tasks/service/work.py": ONE,
    "plugins/openspec/src/mcp_host_openspec/service/merge.py": "one algorithm",
    "plugins/openspec/src/mcp_host_openspec/service/service.py": ONE,
    "plugins/openspec/src/mcp_host_openspec/storage/tree.py": ONE,
    "plugins/tasky/src/mcp_host_tasky/service/draft.py": ONE,
    "plugins/tasky/src/mcp_host_tasky/storage/json_file.py": ONE,
    "plugins/tasky/src/mcp_host_tasky/storage/sql/view.py": ONE,
    "plugins/todo_db/src/mcp_host_todo_db/storage/statements.py": "one statement after the other",
}
"""Modules that are longer than `LONG`, each with the reason why it stays one."""


WRITTEN = ("core/src", "plugins/*/src/*", "benchmarks", "tools")
"""Where the code stands, as git matches paths."""


def written(*folders: str) -> list[Path]:
    """The Python files below folders that are kept with the code."""
    listed = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True)
    return [ROOT / name for name in listed.split() if name.endswith(".py")]


def test_no_file_needs_rulers_to_be_read() -> None:
    ruled = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in written()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if re.match(r"\s*# (--|==)", line)
    ]

    assert ruled == [], "a file that needs rulers is a folder: give each part a module or a class"


def test_a_module_is_short_or_has_a_reason_not_to_be() -> None:
    long = {
        str(file.relative_to(ROOT))
        for file in written(*WRITTEN)
        if len(file.read_text("utf-8").splitlines()) > LONG
    }

    assert long - LONGER.keys() == set(), f"longer than {LONG} lines: split it by its nouns"
    assert [name for name in LONGER if not (ROOT / name).exists()] == []


MANY = 10
"""Attributes of a class, beyond which its docstring says what always holds between them."""


def attributes(defined: ast.ClassDef) -> set[str]:
    """What instances have: fields of a dataclass, slots, and what the constructor sets."""
    is_dataclass = any("dataclass" in ast.dump(one) for one in defined.decorator_list)
    found = set[str]()
    for node in defined.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_dataclass:
            found.add(node.target.id)
        elif isinstance(node, ast.Assign) and "__slots__" in ast.dump(node.targets[0]):
            found |= {str(one.value) for one in ast.walk(node) if isinstance(one, ast.Constant)}
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            named = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
            found |= {
                one.attr
                for one in named
                if isinstance(one.ctx, ast.Store)
                and isinstance(one.value, ast.Name)
                and one.value.id == "self"
            }
    return found


def test_a_class_with_many_attributes_says_what_always_holds_between_them() -> None:
    silent = [
        f"{file.relative_to(ROOT)}: {node.name}"
        for file in written(*WRITTEN)
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
        and len(attributes(node)) > MANY
        and "Invariants:" not in (ast.get_docstring(node) or "")
    ]

    assert silent == [], f"a class with more than {MANY} attributes states its invariants"


def test_no_class_of_the_core_has_the_name_of_another() -> None:
    named: dict[str, list[str]] = {}
    for file in written("core/src"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(str(file.relative_to(ROOT)))

    assert {name: files for name, files in named.items() if len(files) > 1} == {}
