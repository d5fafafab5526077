"""A user's machine: its folders, its packs, and commands run on it as a person runs them."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from mcp_host import hookimpl
from mcp_host.testing import Hosted, HttpServer, Person, StdioClient, http_server, stdio_client

Hosting: TypeAlias = Callable[..., AbstractAsyncContextManager[Hosted]]
"""Makes a host in the test's own process; as `mcp_host.testing.hosted`."""

PACKS = Path(__file__).resolve().parent.parent / "packs"
LONGEST = 30.0


@dataclass
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Home:
    """A user's folder and that of a project; `packs` are folders with packs and their metadata."""

    folder: Path
    project: Path
    packs: list[Path] = field(default_factory=lambda: [PACKS / "desk"])

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith("MCP_HOST")}
        return {
            **own,
            "MCP_HOST_UVLOOP": os.environ.get("MCP_HOST_UVLOOP", "0"),  # asyncio's own unless told
            "MCP_HOST_WARM": "0",  # unless told otherwise
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": os.pathsep.join(map(str, self.packs)),
            **(extra or {}),
        }

    def write(self, text: str, name: str = "mcp-host.toml") -> Path:
        """A settings file in the project; trusted by nobody."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add_pack(self, name: str, source: str, distribution: str = "") -> None:
        """Install a pack of one module."""
        self.install(distribution or f"{name}-pack", "mcp_host.packs", name, source)

    def install(
        self, distribution: str, group: str, name: str, source: str, what: str = ""
    ) -> None:
        """Install a distribution of one module with one entry point, the module or `what` in it.

        So far as metadata on the path is an installation.
        """
        folder = self.folder / "packs" / distribution
        info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{distribution.replace('-', '_')}_plugin.py").write_text(source)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\nSummary: Made for a test\n"
        )
        module = f"{distribution.replace('-', '_')}_plugin"
        target = f"{module}:{what}" if what else module
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {target}\n")
        self.packs.append(folder)

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "mcp_host", *arguments]

    def run(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Done:
        """Run an `mcp-host` command in the project's folder."""
        process = subprocess.run(
            self.argv(*arguments),
            cwd=cwd or self.project,
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        return Done(process.returncode, process.stdout, process.stderr)

    def type_into(self, *arguments: str, answers: Sequence[tuple[str, str]]) -> Done:
        """Run a command in a terminal, and type each answer when its question has appeared.

        "^C" interrupts the command, "^D" ends its input.
        """
        controller, terminal = pty.openpty()
        process = subprocess.Popen(
            self.argv(*arguments),
            cwd=self.project,
            env=self.environment({"TERM": "dumb"}),
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            text=True,
            start_new_session=True,
        )
        os.close(terminal)
        seen, shown = "", 0
        try:
            for question, answer in answers:
                while question not in seen[shown:]:
                    ready, _, _ = select.select([controller], [], [], LONGEST)
                    assert ready, f"'{question}' was not asked; it showed: {seen}"
                    seen += os.read(controller, 4096).decode()
                shown = seen.index(question, shown) + len(question)
                if answer == "^C":
                    _interrupt(process, controller)
                else:
                    os.write(controller, b"\x04" if answer == "^D" else f"{answer}\n".encode())
            out, _ = process.communicate(timeout=LONGEST)
            seen += _rest(controller)
        except OSError:
            out, _ = process.communicate(timeout=LONGEST)
            raise AssertionError(f"the command ended; it showed: {seen}\n{out}") from None
        finally:
            process.kill()
            os.close(controller)
        return Done(process.returncode, out, seen)

    def stdio(
        self,
        *arguments: str,
        protocol: str = "2025-11-25",
        person: Person | None = None,
        env: Mapping[str, str] | None = None,
        handshake: bool = True,
    ) -> AbstractAsyncContextManager[StdioClient]:
        """A client of `mcp-host serve` on stdio."""
        return stdio_client(
            self.argv("serve", *arguments),
            protocol=protocol,
            person=person,
            cwd=self.project,
            environment=self.environment(env),
            handshake=handshake,
        )

    def http(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[HttpServer]:
        """`mcp-host serve` on a free port of loopback."""
        return http_server(
            self.argv("serve", "--transport", "http", "--port", "0", *arguments),
            cwd=self.project,
            environment=self.environment(env),
        )


def _interrupt(process: subprocess.Popen[str], controller: int) -> None:
    """Press Ctrl-C as a person does: again, where the key came just before the terminal is read."""
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        ready, _, _ = select.select([controller], [], [], 2)
        if ready:
            return


def _rest(controller: int) -> str:
    text = ""
    try:
        while data := os.read(controller, 4096):
            text += data.decode()
    except OSError:  # Linux's word for the end of a terminal
        return text
    return text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A user's machine with a pack called `desk`, and nothing configured."""
    return _made(tmp_path)


@pytest.fixture(scope="module")
def make_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Home]:
    """As `home`, for servers that a whole module of tests shares."""
    return lambda: _made(tmp_path_factory.mktemp("user"))


def _made(base: Path) -> Home:
    made = Home(base / "home", base / "project")
    made.folder.mkdir()
    made.project.mkdir()
    return made


def pack_of(*tools: Any, **hooks: Any) -> str:
    """A pack made of these tools; the name of its module. `hooks` are further answers."""
    module = ModuleType(f"made_{uuid4().hex}")
    answers = {"mcp_host_tools": lambda: list(tools), **hooks}
    for name, answer in answers.items():
        answer.__name__ = name
        setattr(module, name, hookimpl(answer))
    sys.modules[module.__name__] = module
    return module.__name__
