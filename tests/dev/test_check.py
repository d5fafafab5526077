"""`mcp-host check`, as an author runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

ODD = Path(__file__).parents[1] / "packs" / "odd"


def checked(folder: Path, module: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Check the one pack of a project that is made in a folder."""
    (folder / "pyproject.toml").write_text(
        f'[project.entry-points."mcp_host.packs"]\nweather = "{module}"\n'
    )
    (folder / f"{module}.py").write_text((ODD / f"{module}.py").read_text())
    return subprocess.run(
        [sys.executable, "-m", "mcp_host", "check", *options],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_findings_are_told_with_what_mends_them_and_end_with_1(tmp_path):
    done = checked(tmp_path, "secret_default")

    assert done.returncode == 1
    assert "error  secrets      forecast(password): the default of 'password'" in done.stdout
    assert "-> take the default away" in done.stdout
    assert "pack weather has 2 to mend" in done.stdout


def test_a_pack_that_prints_leaves_the_findings_readable(tmp_path):
    done = checked(tmp_path, "prints", "--json")

    (pack,) = json.loads(done.stdout)["packs"]
    assert pack["pack"] == "weather"
    assert {finding["rule"] for finding in pack["findings"]} == {"descriptions"}


def test_a_file_and_another_project_are_checked_as_they_lie_there(tmp_path):
    checked(tmp_path, "secret_default", "--help")
    (tmp_path / "weather.py").write_text((tmp_path / "secret_default.py").read_text())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    for path in ("../weather.py", ".."):
        done = checked(elsewhere, "prints", path)
        assert "pack weather has 2 to mend" in done.stdout, path


def test_relative_paths_of_the_settings_start_at_their_file(tmp_path):
    (tmp_path / "notes.py").write_text(
        "from pathlib import Path\nfrom mcp_host import hookimpl\n"
        "from pydantic import BaseModel, Field\n\n\n"
        "class Settings(BaseModel, frozen=True):\n"
        "    book: Path = Field(Path(), description='A book.')\n\n\n"
        "@hookimpl\ndef mcp_host_settings():\n    return Settings\n\n\n"
        "@hookimpl\ndef mcp_host_tools(settings):\n"
        "    assert settings.book.read_text() == 'found'\n    return []\n"
    )
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mcp-host.toml").write_text('[packs.notes.settings]\nbook = "book.txt"\n')
    (tmp_path / "conf" / "book.txt").write_text("found")

    done = checked(tmp_path, "prints", "notes.py", "--config", "conf/mcp-host.toml")

    assert "pack notes holds" in done.stdout, done.stdout


def test_a_project_that_cannot_be_loaded_says_why_to_check_and_to_call(tmp_path):
    for about, said in (
        ('dependencies = ["mcp-host>=9"]\n', "is made for mcp-host >=9"),
        ("", "correct the entry point of the group mcp_host.packs"),
    ):
        (tmp_path / "pyproject.toml").write_text(
            f'[project]\nname = "sky"\n{about}'
            '[project.entry-points."mcp_host.packs"]\nweather = "sky.missing"\n'
        )
        (tmp_path / "sky").mkdir(exist_ok=True)
        (tmp_path / "sky" / "__init__.py").touch()
        for command in (["check", "."], ["call", ".", "forecast"]):
            done = subprocess.run(
                [sys.executable, "-m", "mcp_host", *command],
                cwd=tmp_path,
                env={**os.environ, "HOME": str(tmp_path)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 1
            assert said in done.stdout + done.stderr
