"""Fixtures of the Cortex tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the two helper modules beside this file

from cortex_lab import Ctx, Repo, make_repo, served_backend


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def ctx(home: Path) -> Ctx:
    """The command of somebody in local mode."""
    command = Ctx(home)
    command.set(url="local", timeout="5", use_worktree="false")
    return command


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.fixture
def lonely_repo(tmp_path: Path) -> Repo:
    """A repository without a remote."""
    return make_repo(tmp_path, remote=False)


@pytest.fixture(scope="session")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an embedded backend of one's own."""
    with served_backend(tmp_path_factory.mktemp("backend")) as url:
        yield url


@pytest.fixture
def online(home: Path, backend: str) -> Ctx:
    """The command of a new user who is logged in to the embedded backend."""
    command = Ctx(home)
    command.set(url=backend, timeout="20", use_worktree="false")
    email = f"{home.parent.name}@example.com"
    run = command(
        "auth", "login", "--register", "--email", email, "--password-stdin", stdin="secret words\n"
    )
    assert run.code == 0, run.err
    return command
