"""A page's samples, run as a reader would: one scratch folder, from top to bottom."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from docs_pages import ROOT, Block
from mcp_host.settings.loading import parse

OURS = Path(sys.executable).parent
PATIENCE = 60
DOCS_PORT = "8000"
ENDS_WITH = re.compile(r"ends with (\d+)")
NOT_RUN = ("text", "markdown", "diff", "mermaid", "yaml", "nginx", "ini", "sql", "")
SET_UP = re.compile(r'(pip install (dist/|.*"?mcp-host(\[|"|$))|make |git clone )')


class Session:
    """`folder` is the reader's; `home` lies beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "project", folder / "home"
        self.folder.mkdir(parents=True)
        self.home.mkdir()
        self._servers: list[subprocess.Popen[bytes]] = []
        self._port = _free_port()
        self._environment = self._make_environment(folder / "venv")

    def run(self, block: Block) -> None:
        """Do with a block what its language asks for."""
        if block.note.startswith("not run: "):
            return
        if block.file is not None:
            self._write(block)
        if block.language == "console":
            self._console(block)
        elif block.language == "toml":
            self._toml(block)
        elif block.language == "json":
            json.loads(block.body)
        elif block.language == "python":
            self._python(block)
        elif block.language not in NOT_RUN:
            raise AssertionError(f"{block.where}: nobody runs '{block.language}' blocks")

    def close(self) -> None:
        """End the servers that the page started."""
        for server in self._servers:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(PATIENCE)

    def _write(self, block: Block) -> None:
        path = self.folder / str(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.body.replace(DOCS_PORT, self._port), "utf-8")

    def _toml(self, block: Block) -> None:
        data = tomllib.loads(block.body)
        if str(block.file or "").endswith("mcp-host.toml"):
            environment = {name: "a-value-of-the-test-0123456789-" + name for name in _wanted(data)}
            settings = parse(data, self.folder / str(block.file), environment)
            assert not settings.problems, f"{block.where}: {settings.problems}"

    def _python(self, block: Block) -> None:
        if block.file is not None:
            compile(block.body, block.where, "exec")
            return
        done = self._bash(f"{sys.executable} -", block.body)
        assert done.returncode == 0, f"{block.where} failed:\n{done.stdout}"

    def _console(self, block: Block) -> None:
        ends_with = ENDS_WITH.match(block.note)
        expected_code = int(ends_with.group(1)) if ends_with else 0
        for command, expected in _commands(block):
            if SET_UP.match(command):
                check_set_up(command, block.where)
                continue
            port = self._port
            given, wanted = command.replace(DOCS_PORT, port), expected.replace(DOCS_PORT, port)
            if given.endswith(" &"):
                self._serve(given.removesuffix(" &"), block.where)
                continue
            done = self._bash(given)
            about = f"{block.where}: $ {command}\n{done.stdout}"
            assert done.returncode == expected_code, f"ended with {done.returncode}\n{about}"
            assert not wanted or fits(wanted, done.stdout), f"{about}\ndoes not fit:\n{wanted}"

    def _bash(self, command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        process = self._start(command, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(given.encode(), PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise AssertionError(f"$ {command}\ndoes not end; it said: {output!r}") from None
        return subprocess.CompletedProcess(command, process.returncode, output.decode(), "")

    def _start(self, command: str, stdin: int, stderr: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            cwd=self.folder,
            env=self._environment,
            start_new_session=True,
            stdin=stdin,
            stderr=stderr,
        )

    def _serve(self, command: str, where: str) -> None:
        server = self._start(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._servers.append(server)
        said = b""
        assert server.stderr is not None
        for line in server.stderr:
            said += line
            if b"listening on" in line:
                threading.Thread(target=server.stderr.read, daemon=True).start()
                self._wait_until_opened()
                return
        raise AssertionError(f"{where}: {command} ended:\n{said.decode()}")

    def _wait_until_opened(self) -> None:
        """Wait until no pack is on its way any more, as whoever types the next command does."""
        patience = time.monotonic() + PATIENCE
        while time.monotonic() < patience:
            try:
                with urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=PATIENCE) as answer:
                    told = answer.read()
            except HTTPError as error:
                told = error.read()
            except OSError:  # it listens elsewhere
                return
            if b"opening" not in told and b"loading" not in told:
                return
            time.sleep(0.02)

    def _make_environment(self, folder: Path) -> Mapping[str, str]:
        """A virtual environment of the page's own that also sees what the tests' has."""
        venv.create(folder, with_pip=False)
        (site,) = (folder / "lib").glob("python*/site-packages")
        ours = next(p for p in map(Path, sys.path) if p.name == "site-packages")
        (site / "ours.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
        binaries = folder / "bin"
        for name, module in (("mcp-host", "mcp_host"), ("pip", "pip"), ("pytest", "pytest")):
            script = binaries / name
            script.write_text(f'#!/bin/sh\nexec "{binaries}/python" -m {module} "$@"\n')
            script.chmod(0o755)
        path = os.pathsep.join((str(binaries), str(OURS), os.environ["PATH"]))
        return {
            "PATH": path,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "MCP_HOST_WARM": "0",
            "PYTEST_DEBUG_TEMPROOT": str(self.home),  # what other runs left is not warned of here
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it so: 0 switches isolation off
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "LANG": "C.UTF-8",
            "COLUMNS": "160",
        }


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def _wanted(data: Any) -> set[str]:
    """The environment variables that a settings file needs."""
    if isinstance(data, dict):
        own = {data["env"]} if isinstance(data.get("env"), str) and "default" not in data else set()
        return own.union(*map(_wanted, data.values()))
    return set().union(*map(_wanted, data)) if isinstance(data, list) else set()


def _commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that is shown for it."""
    found: list[tuple[str, str]] = []
    continued = False
    for line in block.text.splitlines():
        if continued:
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        elif line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
        continued = (continued or line.startswith("$ ")) and line.endswith("\\")
    assert found, f"{block.where}: a console block needs a line that begins with '$ '"
    return found


def fits(wanted: str, output: str) -> bool:
    """Whether an output is the shown one, where `…` stands for anything."""
    lines = []
    for line in wanted.strip().splitlines():
        if line.strip() == "…":
            lines.append("(?:.*\n)*?")
        else:
            parts = (re.escape(" ".join(part.split())) for part in line.strip().split("…"))
            lines.append(" ?.*? ?".join(parts) + "\n")
    shown = "".join(" ".join(line.split()) + "\n" for line in output.strip().splitlines())
    return re.fullmatch("".join(lines), shown) is not None


def check_set_up(command: str, where: str) -> None:
    """What a reader does before the first sample: named extras and targets must exist."""
    extras = re.search(r"mcp-host\[([\w,-]+)\]", command)
    if extras:
        project = tomllib.loads((ROOT / "core" / "pyproject.toml").read_text("utf-8"))["project"]
        unknown = set(extras[1].split(",")) - set(project["optional-dependencies"])
        assert not unknown, f"{where}: mcp-host has no extras {unknown}"
    if command.startswith("make "):
        makefile = (ROOT / "Makefile").read_text("utf-8")
        for target in command.split()[1:]:
            assert "=" in target or f"\n{target}:" in makefile, f"{where}: no target {target}"
