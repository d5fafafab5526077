"""`mcp-host new`: what it makes installs, passes its own tests and serves."""

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from core_home import Home
from hatchling.builders.sdist import SdistBuilder
from mcp_host import SettingsError
from mcp_host_dev.new import new

ROOT = Path(__file__).parents[2]
KINDS = {"garden": (), "house_notes": ("--full", "--author", 'Ann "the pen" Example')}
"""A pack of each kind."""
CORE = tomllib.loads((ROOT / "core" / "pyproject.toml").read_text("utf-8"))["project"]
LANGUAGE = "Programming Language :: Python :: 3."
SUPPORTED = [f"3.{one.removeprefix(LANGUAGE)}" for one in CORE["classifiers"] if LANGUAGE in one]


pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def made(make_home: Callable[[], Home]) -> Home:
    """A user with a pack of each kind, installed beside the host."""
    home = make_home()
    for name, options in KINDS.items():
        done = home.run("new", name, *options, "--into", name)
        assert done.code == 0, done.err
    installed = home.folder / "installed"
    folders = [str(home.project / name) for name in KINDS]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--no-compile", "--target", str(installed), *folders],
        check=True,
        env=home.environment(),
    )
    home.packs.append(installed)
    return home


def test_the_tests_of_both_kinds_pass(made: Home) -> None:
    tests = [str(made.project / name / "tests") for name in KINDS]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=made.project,
        env=made.environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


async def ask(home: Home, name: str, tool: str, /, **arguments: str) -> object:
    """Call a tool as the client entry of a new pack has it served."""
    folder = home.project / name
    entry = json.loads((folder / ".mcp.json").read_text("utf-8"))["mcpServers"][name]
    assert entry["command"] == "mcp-host"
    _, *options = entry["args"]
    options = [str(folder / o) if o.endswith(".toml") else o for o in options]
    async with home.stdio(*options, env={"XDG_DATA_HOME": str(folder / "data")}) as client:
        return await client.value(tool, **arguments)


@pytest.mark.anyio
async def test_the_client_entry_of_both_kinds_serves(made: Home) -> None:
    assert await ask(made, "garden", "garden_greet", name="Ada") == {"text": "Hello, Ada!"}
    note = await ask(made, "house_notes", "house_notes_add", text="hello")
    assert isinstance(note, dict)
    assert (note["id"], note["text"]) == (1, "hello")


@pytest.mark.parametrize("name", KINDS)
def test_a_new_pack_passes_the_check(made: Home, name: str) -> None:
    done = made.run("check", name)

    assert done.code == 0, done.out
    assert "advice" not in done.out


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or one that pyenv keeps."""
    named = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    found = [shutil.which(named[0]), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for python in filter(None, found):
        ran = subprocess.run([python, *named[1:]], capture_output=True, text=True, check=False)
        if ran.returncode == 0:
            return ran.stdout.strip()
    return None


@pytest.fixture(scope="module")
def wheels(made: Home, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheels of the host, its commands for authors, and a pack of each kind."""
    ours = [str(ROOT / "core"), str(ROOT / "plugins" / "dev")]
    theirs = [str(made.project / name) for name in KINDS]
    folder = tmp_path_factory.mktemp("wheels")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--wheel-dir", str(folder), *ours, *theirs], check=True
    )
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    "version", [of for of in SUPPORTED if of != f"{sys.version_info[0]}.{sys.version_info[1]}"]
)
def test_both_kinds_pass_their_tests_on_every_other_python_that_is_supported(
    made: Home, wheels: list[Path], tmp_path: Path, version: str
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"NEW PACKS WERE NOT TRIED ON PYTHON {version}: it is not installed")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    own = str(tmp_path / "venv" / "bin" / "python")
    pip = [own, "-m", "pip", "install", "--quiet", "--no-compile", "--constraint"]
    tests = [str(made.project / name / "tests") for name in KINDS]

    subprocess.run([*pip, str(ROOT / "constraints.txt"), "pytest", *wheels], check=True)
    done = subprocess.run(
        [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=made.project,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout


@pytest.mark.parametrize("name", KINDS)
def test_a_new_pack_can_be_published(made: Home, name: str) -> None:
    folder = made.project / name
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    workflow = (folder / ".github" / "workflows" / "publish.yml").read_text("utf-8")
    ci = (folder / ".github" / "workflows" / "ci.yml").read_text("utf-8")

    assert f"python: {json.dumps(SUPPORTED)}" in ci
    assert project["license"] == "MIT"
    assert project["authors"][0]["name"] in (folder / "LICENSE").read_text("utf-8")
    assert "id-token: write" in workflow
    assert "password" not in workflow.replace("without a password", "")
    assert "%%" not in "".join(
        path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("name", KINDS)
def test_what_lies_beside_a_new_pack_is_not_published(
    made: Home, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    shutil.copytree(made.project / name, folder)
    beside = ["ann.txt", "token.txt", "serve.toml", "stock.db", "src/stock.db", "secrets/key"]
    for path in beside:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("not for others")

    built = SdistBuilder(str(folder)).build(directory=str(tmp_path / "dist"))
    with tarfile.open(next(built)) as packed:
        published = {path.partition("/")[2] for path in packed.getnames()}

    ours = {p for p in published if not p.startswith((f"src/mcp_host_{name}", "tests/test_"))}
    assert ours == {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
    assert len(published) > len(ours)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("My-Pack", {}, "not 'My-Pack'; 'my_pack' would do"),
        ("7", {}, "must be a lower-case letter"),
        ("host", {}, "is the host's own"),
        ("tasky", {}, "a pack 'tasky' is installed already, by mcp-host-tasky"),
        ("fresh", {"distribution": "pytest"}, "is installed already; choose another"),
        ("fresh", {"distribution": "-x"}, "with a letter or digit at both ends"),
        ("fresh", {"distribution": "7"}, "must make a name for `import`"),
        ("fresh", {"author": "a\nb"}, "must be a name on one line"),
        (
            "fresh",
            {"into": "full"},
            "full exists and is not empty, it has file; choose another place",
        ),
        ("fresh", {"into": "full/file"}, "exists and is not a folder"),
        ("fresh", {"into": "full/file/deeper"}, "Not a directory"),
    ],
)
def test_names_and_places_that_will_not_do_are_told_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: dict[str, str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full").mkdir()
    Path("full/file").touch()
    folder = Path(options.pop("into")) if "into" in options else None

    with pytest.raises(SettingsError) as refused:
        new(name, folder=folder, **options)

    assert said in str(refused.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full"]


def test_what_will_not_do_is_an_error_of_the_command(home: Home) -> None:
    done = home.run("new", "My-Pack")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the pack's name must be")


def test_a_folder_may_be_there_already_with_what_is_hidden(home: Home) -> None:
    (home.project / "place" / ".git").mkdir(parents=True)

    assert home.run("new", "fresh", "--into", "place").code == 0
    assert Path(home.project / "place" / "pyproject.toml").exists()
    (home.project / "other").mkdir()
    (home.project / "other" / ".gitignore").touch()
    assert "it has .gitignore" in home.run("new", "fresh", "--into", "other").err
