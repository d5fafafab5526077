"""Trees to work on: one of the old layout, one of the new, and small ones made as a test needs."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp_host.testing import StdioClient, stdio_client
from mcp_host_openspec.service import OpenSpec, Root

SPEC = """\
# auth Specification

## Purpose
Says who may use the system and how people prove who they are.

## Requirements

### Requirement: Login
The system SHALL ask for a password.

#### Scenario: Right password
- **WHEN** the password is right
- **THEN** the person is let in

#### Scenario: Wrong password
- **WHEN** the password is wrong
- **THEN** the person is turned away

### Requirement: Logout
The system SHALL end a session on request.

#### Scenario: Logging out
- **WHEN** a person logs out
- **THEN** the session ends
"""

ADDED = """\
## ADDED Requirements

### Requirement: Lockout
The system SHALL lock an account after five wrong passwords.

#### Scenario: Five wrong passwords
- **WHEN** a password is wrong for the fifth time
- **THEN** the account is locked
"""

PROPOSAL = """\
# Change: Lock accounts

## Why
Passwords are guessed by trying many of them, and nothing stops that today.

## What Changes
- **auth:** adds a lockout
"""

TASKS = "## 1. Work\n\n- [x] 1.1 Count wrong passwords\n- [x] 1.2 Lock the account\n"

CHANGE = {
    "openspec/changes/add-lockout/proposal.md": PROPOSAL,
    "openspec/changes/add-lockout/tasks.md": TASKS,
    "openspec/changes/add-lockout/design.md": "# Design\n\nCount in the database.\n",
    "openspec/changes/add-lockout/specs/auth/spec.md": ADDED,
}
COMMON = {
    "openspec/specs/auth/spec.md": SPEC,
    **CHANGE,
    "openspec/changes/archive/2024-01-02-add-auth/proposal.md": PROPOSAL,
    "openspec/changes/archive/2025-03-04-add-logout/tasks.md": TASKS,
}
OLD_LAYOUT = {
    **COMMON,
    "openspec/AGENTS.md": "# How we work\n\nRead this first.\n",
    "openspec/project.md": "# Shop\n\n## Purpose\n\nSells things.\n\n## Tech Stack\n\n- Python\n",
}
NEW_LAYOUT = {
    **COMMON,
    "openspec/config.yaml": "schema: spec-driven\ncontext: |\n  A shop that sells things.\n",
    "openspec/specs/area/nested/spec.md": SPEC.replace("auth", "nested"),
    "openspec/changes/add-lockout/.openspec.yaml": "schema: spec-driven\ncreated: 2026-01-02\n",
}

Put = Callable[[Mapping[str, str | bytes]], Path]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def write(project: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder; returns the folder."""
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return project


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write files into the project's folder; returns the folder."""
    project = tmp_path / "project"
    project.mkdir()
    return lambda files: write(project, files)


@pytest.fixture(params=["old layout", "new layout"])
def project(request: pytest.FixtureRequest, put: Put) -> Path:
    """A project, in turn of the old and of the new layout."""
    return put(OLD_LAYOUT if request.param == "old layout" else NEW_LAYOUT)


@pytest.fixture
def shop(put: Put) -> Path:
    """A project of the new layout."""
    return put(NEW_LAYOUT)


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes projects of the new layout, for what several tests share."""
    return lambda: write(tmp_path_factory.mktemp("shop"), NEW_LAYOUT)


@pytest.fixture
def open_tree() -> Callable[[Path], OpenSpec]:
    """The service for a project's tree."""
    return lambda project: OpenSpec(Root(project, "configured"))


@pytest.fixture(autouse=True, scope="module")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's own folders and variables out of the tests' processes."""
    away = tmp_path_factory.mktemp("away")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, str(away / name))
        for name in ("OPENSPEC_ROOT", "OPENSPEC_AUTO_PROJECT_ROOT", "MCP_HOST_CONFIG"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def server() -> list[str]:
    """The command line of the stand-alone server."""
    return [str(Path(sys.executable).with_name("openspec")), "mcp"]


@dataclass(frozen=True)
class Reading:
    """A server that several tests read from, and nobody writes to."""

    client: StdioClient
    project: Path

    async def text(self, uri: str) -> str:
        """The one content of a resource, which must be Markdown."""
        (content,) = await self.client.read(uri)
        assert content["mimeType"] == "text/markdown"
        return str(content["text"])


@pytest.fixture(scope="module", params=["old layout", "new layout"])
async def reading(
    request: pytest.FixtureRequest,
    server: list[str],
    own_folders: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Reading]:
    """One server per layout for the tests that only read."""
    files = OLD_LAYOUT if request.param == "old layout" else NEW_LAYOUT
    project = write(tmp_path_factory.mktemp("project"), files)
    async with stdio_client(server, cwd=project) as client:
        yield Reading(client, project)
