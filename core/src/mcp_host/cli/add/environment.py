"""The environment that this host runs in: who made it, and how that one installs and uninstalls.

Nothing here is reached by a client: only these two commands import it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import SettingsError

HOST = "mcp-host"
RECEIPT = "uv-receipt.toml"
PIPX = "pipx_metadata.json"
PLANNED = re.compile(r"^ \+ (\S+?)(?:==| @ )(\S+)", re.MULTILINE)
ERROR = re.compile(r"ERROR|error|×")
ERROR_LINES = 6
OFFLINE = re.compile(
    r"name resolution|Failed to establish|[Cc]onnection (refused|error|reset)|timed? ?out"
    r"|dns error|error sending request|Failed to fetch",
)


@dataclass(frozen=True)
class Installer:
    """Who keeps this environment: pip, uv, uv's tools or pipx; `program` is how it is run."""

    kind: str
    program: tuple[str, ...]

    def plan(self, wanted: str, *, build: bool) -> dict[str, str]:
        """What would be installed, versions by names, with nothing that is here changed."""
        with as_it_is() as pins:
            if not _made_by_uv(Path(sys.prefix)):
                argv = [*_pip(), "install", "--dry-run", "--quiet", "--report", "-"]
                report = json.loads(run([*argv, *_wheels(build), "-c", pins, wanted]).stdout)
                about = [one["metadata"] for one in report["install"]]
                return {one["name"]: one["version"] for one in about}
            argv = [*self._uv_pip("install"), "--dry-run", *_wheels(build), "-c", pins, wanted]
            return dict(PLANNED.findall(run(argv).stderr))

    def install(self, wanted: str, pins: str, *, build: bool) -> list[str]:
        """The command that installs, recorded where this environment has a record."""
        if self.kind == "pip":
            return [*_pip(), "install", "--quiet", *_wheels(build), "-c", pins, wanted]
        if self.kind == "uv":
            return [*self._uv_pip("install"), "--quiet", *_wheels(build), "-c", pins, wanted]
        if self.kind == "pipx":
            more = [] if build else ["--pip-args=--only-binary=:all:"]
            return [*self.program, "inject", *more, Path(sys.prefix).name, wanted]
        more = [] if build else ["--no-build"]
        return [*self.program, "tool", "install", "--quiet", *more, *_tool(), "--with", wanted]

    def uninstall(self, names: Sequence[str]) -> list[str]:
        """The command that takes distributions out again, and out of the record."""
        if self.kind == "pip":
            return [*_pip(), "uninstall", "--quiet", "--yes", *names]
        if self.kind == "uv":
            return [*self._uv_pip("uninstall"), "--quiet", *names]
        if self.kind == "pipx":
            return [*self.program, "uninject", Path(sys.prefix).name, *names]
        return [*self.program, "tool", "install", "--quiet", *_tool(without=names)]

    def _uv_pip(self, what: str) -> list[str]:
        uv = _program("uv", "UV") if self.kind == "pipx" else self.program  # pipx uses it as well
        return [*uv, "pip", what, "--python", sys.executable]


def installer() -> Installer:
    """Find who keeps this environment; `SettingsError` where nothing may be installed into it."""
    prefix = Path(sys.prefix)
    if sys.prefix == sys.base_prefix and _marker().exists():
        raise SettingsError(
            "this Python belongs to the system (PEP 668), and its packages to the system's "
            "installer; put mcp-host into an environment of its own: uv tool install mcp-host, "
            "pipx install mcp-host, or python3 -m venv"
        )
    packages = sysconfig.get_path("purelib")
    if not os.access(packages, os.W_OK):
        raise SettingsError(f"{packages} must be writable to add a pack, and it is not")
    if (prefix / RECEIPT).exists():
        return Installer("uv tool", _program("uv", "UV"))
    if (prefix / PIPX).exists():
        return Installer("pipx", _program("pipx", "PIPX"))
    if _made_by_uv(prefix):
        return Installer("uv", _program("uv", "UV"))
    if find_spec("pip") is None:
        raise SettingsError(
            f"{prefix} has no pip: add it with {sys.executable} -m ensurepip, then try again"
        )
    return Installer("pip", _pip())


def run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run an installer; `SettingsError` says what it said when it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    begin = next((at for at, line in enumerate(lines) if ERROR.match(line)), max(0, len(lines) - 3))
    told = [line.strip(" ╰─▶│×") for line in lines[begin : begin + ERROR_LINES]]
    said = " ".join(told) or f"it ended with {done.returncode}"
    if OFFLINE.search(done.stderr):
        said = f"the package index cannot be reached. {said}"
    raise SettingsError(f"nothing was changed: {said}")


def versions() -> dict[str, str]:
    """The versions of what is installed here, by normal names."""
    found: dict[str, str] = {}
    for one in metadata.distributions(path=[sysconfig.get_path(k) for k in ("purelib", "platlib")]):
        if one.name:
            found.setdefault(normal(one.name), one.version)
    return found


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@contextmanager
def as_it_is() -> Iterator[str]:
    """A file of constraints by which everything that is here stays at its version."""
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(versions().items()))
    with tempfile.TemporaryDirectory(prefix="mcp-host-add-") as folder:
        pins = Path(folder, "constraints.txt")
        pins.write_text(lines, "utf-8")
        yield str(pins)


def _pip() -> tuple[str, ...]:
    return (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


def _wheels(build: bool) -> list[str]:
    return [] if build else ["--only-binary", ":all:"]


def _marker() -> Path:
    return Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")


def _made_by_uv(prefix: Path) -> bool:
    try:
        lines = (prefix / "pyvenv.cfg").read_text("utf-8").splitlines()
    except OSError:
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _program(name: str, variable: str) -> tuple[str, ...]:
    found = os.environ.get(variable) or shutil.which(name)
    if found is None:
        raise SettingsError(f"this environment was made by {name}, which must be on the PATH")
    return (found,)


def _tool(without: Sequence[str] = ()) -> list[str]:
    """What uv's record of this tool holds, as arguments: the tool, and what came with it."""
    receipt = tomllib.loads(Path(sys.prefix, RECEIPT).read_text("utf-8"))["tool"]
    gone = {normal(name) for name in without}
    tool, *others = sorted(receipt["requirements"], key=lambda one: normal(one["name"]) != HOST)
    arguments = [_requirement(tool)]
    if "python" in receipt:
        arguments += ["--python", receipt["python"]]
    for one in others:
        if normal(one["name"]) not in gone:
            editable = "editable" in one
            arguments += ["--with-editable" if editable else "--with", _requirement(one)]
    return arguments


def _requirement(one: dict[str, Any]) -> str:
    name = one["name"]
    if one.get("extras"):
        name = f"{name}[{','.join(one['extras'])}]"
    if "editable" in one:
        return str(one["editable"])
    for key in ("path", "directory"):
        if key in one:
            return f"{name} @ {Path(one[key]).absolute().as_uri()}"
    for key in ("url", "git"):
        if key in one:
            return f"{name} @ {'git+' if key == 'git' else ''}{one[key]}"
    return f"{name}{one.get('specifier', '')}"
