"""What every bundle carries: a program that starts the host, its settings, its wheels."""

from collections.abc import Mapping
from pathlib import Path

import tomli_w

from .chosen import Chosen

PYTHON = ">=3.11"
PROGRAM = "src/server.py"
SETTINGS = "mcp-host.toml"
ROOT_VARIABLE = "MCP_HOST_BUNDLE_ROOT"

Files = Mapping[str, bytes]
"""The files of a bundle by their paths in it, with `/`."""

_PROGRAM = '''\
{metadata}
"""Start mcp-host with the packs of this bundle; `uv run --script` brings what it needs."""

import os
import runpy
import sys
from pathlib import Path

here = Path(__file__).resolve().parents[1]
arguments = ["--config", str(here / "{settings}"), *sys.argv[1:]]
root = os.environ.pop("{variable}", "")
if root and not root.startswith("$"):  # a client that asks for it, and whose user has said it
    arguments += ["--root", root]
elif Path.cwd().resolve().is_relative_to(here):  # the bundle's own folder is nobody's project
    os.chdir(Path.home())
sys.argv = ["mcp-host", "serve", *arguments]
runpy.run_module("mcp_host", run_name="__main__", alter_sys=True)
'''


def program_files(chosen: Chosen) -> dict[str, bytes]:
    """The program, with what it needs written into it (PEP 723), its settings and its wheels."""
    needs = {"requires-python": PYTHON, "dependencies": _pins(chosen)}
    sources = _sources(chosen, "../wheels")
    script = needs if sources is None else {**needs, "tool": {"uv": {"sources": sources}}}
    lines = tomli_w.dumps(script).splitlines()
    block = "\n".join(("# /// script", *(f"# {line}".rstrip() for line in lines), "# ///"))
    program = _PROGRAM.format(metadata=block, settings=SETTINGS, variable=ROOT_VARIABLE)
    return {
        "README.md": readme(chosen),
        PROGRAM: program.encode(),
        SETTINGS: tomli_w.dumps(chosen.settings).encode(),
        **wheel_files(chosen),
    }


def readme(chosen: Chosen) -> bytes:
    """What a person reads who opens the bundle."""
    lines = [f"# {chosen.name}", "", chosen.description, ""]
    lines += [f"mcp-host with the packs {', '.join(chosen.packs)}. `{PROGRAM}` starts it, with"]
    lines += [f"`{SETTINGS}` beside it; uv brings Python and these packages:", ""]
    lines += [f"- {need.pin}" for need in chosen.requirements]
    return "".join(f"{line}\n" for line in lines).encode()


def project_file(chosen: Chosen) -> bytes:
    """A `pyproject.toml` for hosts of bundles that set up the environment themselves."""
    project = {
        "name": chosen.name,
        "version": chosen.version,
        "description": chosen.description,
        "requires-python": PYTHON,
        "dependencies": _pins(chosen),
    }
    uv: dict[str, object] = {"package": False}
    if sources := _sources(chosen, "wheels"):
        uv["sources"] = sources
    return tomli_w.dumps({"project": project, "tool": {"uv": uv}}).encode()


def wheel_files(chosen: Chosen) -> dict[str, bytes]:
    """The wheels that the bundle carries."""
    wheels = [need.wheel for need in chosen.requirements if need.wheel]
    return {f"wheels/{wheel.name}": wheel.read_bytes() for wheel in wheels}


def skill_files(chosen: Chosen) -> dict[str, bytes]:
    """The skills of the packs, with all files of their folders."""
    return {
        f"skills/{name}/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for name, folder in chosen.skills.items()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def started_by(root: str, separator: str = "/") -> dict[str, object]:
    """The command and arguments that start the program, where `root` is the bundle's folder."""
    path = separator.join((root, *Path(PROGRAM).parts))
    return {"command": "uv", "args": ["run", "--quiet", "--script", path]}


def _pins(chosen: Chosen) -> list[str]:
    return [need.pin for need in chosen.requirements]


def _sources(chosen: Chosen, folder: str) -> dict[str, dict[str, str]] | None:
    carried = [need for need in chosen.requirements if need.wheel]
    found = {need.name: {"path": f"{folder}/{need.wheel.name}"} for need in carried if need.wheel}
    return found or None
