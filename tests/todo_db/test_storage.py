"""Where tasks are kept: every way to a database, and every way it can fail."""

import asyncio
import sqlite3
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import asyncpg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp_host_todo_db.errors import (
    BadCursorError,
    BadUrlError,
    DatabaseBusyError,
    DatabaseRefusedError,
    DatabaseUnreachableError,
    InvalidTaskError,
    TableMissingError,
    TableUnfitError,
    TaskNotFoundError,
    UnknownUserError,
)
from mcp_host_todo_db.model import Position, TaskCreate, TaskUpdate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import Health, create_tables, open_store, read_url
from mcp_host_todo_db.storage.pool_metrics import POOLS
from mcp_host_todo_db.storage.postgres import explain_running
from mcp_host_todo_db.storage.sqlite import explain as explain_sqlite
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio


async def use_it(url: str, user_id: str = "ann") -> None:
    """Add, list, change and remove a task through a service of its own."""
    async with open_store(read_url(url), connect_timeout=3) as store:
        tasks = TaskService(store)
        made = await tasks.add(user_id, TaskCreate("t", "d"))
        assert (await tasks.page(user_id)).tasks == (made,)
        assert (await tasks.complete(user_id, made.id)).is_completed
        assert (await tasks.update(user_id, made.id, TaskUpdate(title="u"))).title == "u"
        await tasks.delete(user_id, made.id)
        assert (await tasks.page(user_id)).total == 0


@pytest.mark.parametrize(
    "query",
    [
        {"sslmode": "prefer", "channel_binding": "prefer"},
        {"ssl": "false"},
        {"pgbouncer": "true", "connection_limit": "1", "connect_timeout": "5"},
        {"application_name": "mine", "supa": "base-pooler.x"},
    ],
)
async def test_a_url_as_providers_write_it_reaches_the_database(
    server: "Server", schema: str, query: dict[str, str]
) -> None:
    url = server.url(schema, **query)
    await create_tables(read_url(url))

    for scheme in ("postgres", "postgresql", "postgresql+psycopg2", "postgresql+asyncpg"):
        await use_it(url.replace("postgres", scheme, 1))


async def test_a_url_that_demands_tls_gets_it_and_a_wrong_certificate_is_refused(
    server: "Server", schema: str, tmp_path: Path
) -> None:
    await create_tables(read_url(server.url(schema)))
    certificate, stranger = tmp_path / "server.pem", tmp_path / "stranger.pem"
    for file in (certificate, stranger):
        make_certificate(file)

    async with tls_front(server.port, certificate) as (port, handshakes):
        plain = server.url(schema).replace(f":{server.port}/", f":{port}/")
        await use_it(f"{plain}&sslmode=require&channel_binding=require")
        await use_it(f"{plain}&sslmode=verify-full&sslrootcert={certificate}")
        assert len(handshakes) >= 2
        assert set(handshakes) == {"encrypted"}
        for roots in (str(stranger), "system"):
            with pytest.raises(DatabaseUnreachableError, match="no secure connection"):
                await use_it(f"{plain}&sslmode=verify-full&sslrootcert={roots}")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://u:s3cret@db/x",
        "s3cret",
        "sqlite://",
        "sqlite:///:memory:",
        "postgres://u:s3cret/1@db/x",
        "postgres://u:s3cret#1@db/x",
        "postgres://u:s3cret?1@db/x",
        "postgres://u:x@db:s3cret/x",
        "postgres://u:s3cret@[db/x",
    ],
)
def test_a_url_that_cannot_be_used_is_told_without_showing_it(url: str) -> None:
    with pytest.raises(BadUrlError) as caught:
        read_url(url)

    assert "s3cret" not in repr(caught.value)
    assert "sqlite:///FILE" in str(caught.value)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("127.0.0.1:1", "nothing listens there"),
        ("nowhere.invalid", "no such host is known"),
        ("127.0.0.1:{silent}", "it did not answer in time"),
    ],
)
async def test_a_database_that_cannot_be_reached_is_named_without_the_password(
    place: str, why: str
) -> None:
    async with silent_listener() as silent:
        place = place.format(silent=silent)
        address = read_url(f"postgres://ann:s3cret@{place}/x")

        with pytest.raises(DatabaseUnreachableError) as caught:
            limit = 0.5 if why == "it did not answer in time" else 20
            async with asyncio.timeout(60), open_store(address, connect_timeout=limit):
                pass

    assert str(caught.value) == f"The database at {place} cannot be reached: {why}"
    assert caught.value.details == {"reason": "database_unreachable", "database": place}
    assert "s3cret" not in f"{caught.value!r}{caught.value.__cause__!r}{address!r}"


async def test_a_wrong_password_is_refused_without_showing_it(server: "Server") -> None:
    url = server.url().replace("pass%2Fword", "s3cret")

    with pytest.raises(
        DatabaseRefusedError, match="password authentication failed for user"
    ) as caught:
        async with open_store(read_url(url)):
            pass

    assert "s3cret" not in str(caught.value)


async def test_a_missing_table_stops_the_start_and_is_made_by_init_alone(
    server: "Server", schema: str
) -> None:
    address = read_url(server.url(schema))

    with pytest.raises(TableMissingError, match="todo-db-mcp init-db"):
        async with open_store(address):
            pass

    assert await create_tables(address)
    assert not await create_tables(address)
    await use_it(server.url(schema))


@pytest.mark.parametrize(
    "columns",
    [
        "id uuid PRIMARY KEY, user_id uuid NOT NULL REFERENCES users, title varchar(255) NOT NULL,"
        " description text, is_completed boolean NOT NULL, created_at timestamp NOT NULL,"
        " updated_at timestamp NOT NULL, priority int NOT NULL DEFAULT 1",
        "id varchar PRIMARY KEY, user_id varchar NOT NULL, title varchar NOT NULL,"
        " description varchar(10000), is_completed boolean NOT NULL DEFAULT false,"
        " created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, due date",
        "id char(32) PRIMARY KEY, user_id text NOT NULL, title text NOT NULL, description text,"
        " is_completed boolean NOT NULL, created_at timestamptz NOT NULL,"
        " updated_at timestamptz NOT NULL",
    ],
)
async def test_an_existing_table_is_used_as_it_is(
    server: "Server", schema: str, columns: str
) -> None:
    user = uuid4()
    await server.execute(
        f"SET search_path = {schema}; CREATE TABLE users (id uuid PRIMARY KEY);"
        f" INSERT INTO users VALUES ('{user}'); CREATE TABLE tasks ({columns});"
        " GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO todo; GRANT SELECT ON users TO todo"
    )

    await use_it(server.url(schema), str(user))


async def test_a_user_that_the_database_does_not_know_has_no_tasks_and_gets_none(
    server: "Server", schema: str
) -> None:
    await server.execute(
        f"SET search_path = {schema}; CREATE TABLE users (id uuid PRIMARY KEY);"
        " CREATE TABLE tasks (id uuid PRIMARY KEY, user_id uuid NOT NULL REFERENCES users,"
        " title text NOT NULL, description text, is_completed boolean NOT NULL,"
        " created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL);"
        " GRANT ALL ON tasks, users TO todo"
    )

    async with open_store(read_url(server.url(schema))) as store:
        tasks = TaskService(store)
        for stranger in (str(uuid4()), "abc-123"):
            assert (await tasks.page(stranger)).tasks == ()
            with pytest.raises(UnknownUserError):
                await tasks.add(stranger, TaskCreate("t"))
            with pytest.raises(TaskNotFoundError):
                await tasks.complete(stranger, str(uuid4()))


async def test_the_rules_of_an_existing_table_are_told(server: "Server", schema: str) -> None:
    url = server.url(schema)
    await create_tables(read_url(url))
    await server.execute(
        f"ALTER TABLE {schema}.tasks ADD CONSTRAINT one_of_a_title UNIQUE (user_id, title),"
        " ALTER title TYPE varchar(9)"
    )
    async with open_store(read_url(url)) as store:
        tasks = TaskService(store)
        await tasks.add("ann", TaskCreate("t"))

        for title, why in (("t", "one_of_a_title"), ("t" * 10, "too long for type")):
            with pytest.raises(
                InvalidTaskError, match=f"The table does not take this task: .*{why}"
            ):
                await tasks.add("ann", TaskCreate(title))

        assert (await tasks.page("ann")).total == 1


@pytest.mark.parametrize(
    "position",
    [
        Position("2026-01-02T03:04:05", str(uuid4())),
        Position("0001-01-01T00:00:00+23:00", str(uuid4())),
        Position("2026-01-02T03:04:05+00:00", "no-uuid"),
    ],
)
async def test_a_cursor_that_was_made_up_is_refused(
    server: "Server", schema: str, position: Position
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema))) as store:
        with pytest.raises(BadCursorError):
            await TaskService(store).page("ann", cursor=position.cursor)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("DROP COLUMN updated_at", "it has no column updated_at"),
        ("ADD COLUMN list int NOT NULL", "its column list needs a value and has no default"),
        ("ALTER description SET NOT NULL", "its column description must allow null"),
    ],
)
async def test_a_table_that_no_task_fits_into_stops_the_start(
    server: "Server", schema: str, change: str, why: str
) -> None:
    address = read_url(server.url(schema))
    await create_tables(address)
    await server.execute(f"ALTER TABLE {schema}.tasks {change}")

    with pytest.raises(TableUnfitError, match=why):
        async with open_store(address):
            pass


async def test_tasks_come_back_when_the_database_does(server: "Server", schema: str) -> None:
    told: list[str] = []
    health = Health(told.append, lambda: told.append("back"))
    await create_tables(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema)), health=health) as store:
        tasks = TaskService(store)
        made = await tasks.add("ann", TaskCreate("t"))
        await asyncio.to_thread(server.stop)
        try:
            for _ in range(2):
                with pytest.raises(DatabaseUnreachableError):
                    await tasks.page("ann")
        finally:
            await asyncio.to_thread(server.start)

        assert (await tasks.page("ann")).tasks == (made,)

    place = f"127.0.0.1:{server.port}"
    assert told == [f"The database at {place} cannot be reached: nothing listens there", "back"]


async def test_more_calls_than_connections_are_all_answered(server: "Server", schema: str) -> None:
    await create_tables(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema)), pool_size=2) as store:
        tasks = TaskService(store)

        await asyncio.gather(*(tasks.add("ann", TaskCreate(str(n))) for n in range(50)))

        assert (await tasks.page("ann")).total == 50


async def test_the_use_of_the_pool_is_measured(server: "Server", schema: str) -> None:
    reader = InMemoryMetricReader()
    POOLS.measure(MeterProvider(metric_readers=[reader]).get_meter("test"))
    await create_tables(read_url(server.url(schema)))
    async with open_store(read_url(server.url(schema)), pool_size=2) as store:
        service = TaskService(store)
        await service.page("ann")
        rested = measured(reader)
        holder = await asyncpg.connect(server.url(schema))
        async with holder.transaction():
            await holder.execute("LOCK TABLE tasks")
            calls = [asyncio.create_task(service.page("ann")) for _ in range(5)]
            while (busy := measured(reader))["used"] < 2:  # noqa: ASYNC110 - the database tells nobody
                await asyncio.sleep(0.01)
        await asyncio.gather(*calls)
        await holder.close()

    assert rested == {"used": 0, "idle": 1, "waiting": 0}
    assert busy == {"used": 2, "idle": 0, "waiting": 3}
    assert measured(reader) == {}


def measured(reader: InMemoryMetricReader) -> dict[str, int]:
    """The values that are told of one pool, by its connections' state."""
    data = reader.get_metrics_data()
    found = data.resource_metrics[0].scope_metrics[0].metrics if data is not None else []
    return {
        point.attributes.get("db.client.connection.state", "waiting"): point.value
        for metric in found
        for point in metric.data.data_points
    }


async def test_tasks_of_sqlite_outlive_the_process_that_wrote_them(tmp_path: Path) -> None:
    address = read_url(f"sqlite:///{tmp_path / 'a b#%20.db'}")
    async with open_store(address) as store:
        made = await TaskService(store).add("ann", TaskCreate("t"))

    async with open_store(address) as store:
        assert (await TaskService(store).page("ann")).tasks == (made,)
    assert (tmp_path / "a b#%20.db").exists()


async def test_a_file_that_is_no_database_stops_the_start_and_is_left_alone(
    tmp_path: Path,
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann, " * 100)

    for file, why in (
        (letter, "the file is no SQLite database"),
        (tmp_path / "none" / "todo.db", "unable to open database file"),
    ):
        with pytest.raises(DatabaseUnreachableError, match=why):
            async with open_store(read_url(f"sqlite:///{file}")):
                pass

    assert letter.read_text() == "Dear Ann, " * 100


async def test_a_file_that_another_program_holds_is_busy_and_then_usable(tmp_path: Path) -> None:
    file = tmp_path / "todo.db"
    async with open_store(read_url(f"sqlite:///{file}"), statement_timeout=0.2) as store:
        tasks = TaskService(store)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        assert (await tasks.page("ann")).tasks == ()
        with pytest.raises(DatabaseBusyError):
            await tasks.add("ann", TaskCreate("t"))

        other.execute("ROLLBACK")
        other.close()
        await tasks.add("ann", TaskCreate("t"))


async def test_a_new_file_that_another_program_is_making_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "todo.db"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # as SQLite does itself where a file is given its log

    async def opened() -> None:
        async with open_store(read_url(f"sqlite:///{file}"), connect_timeout=60) as store:
            await TaskService(store).add("ann", TaskCreate("t"))

    opening = asyncio.create_task(opened())
    await asyncio.wait({opening}, timeout=0.3)
    assert not opening.done()

    other.execute("COMMIT")
    other.close()
    await opening


async def test_stores_that_open_a_new_file_at_once_all_serve(tmp_path: Path) -> None:
    address = read_url(f"sqlite:///{tmp_path / 'todo.db'}")

    async def added(n: int) -> None:
        async with open_store(address, connect_timeout=60) as store:
            await TaskService(store).add("ann", TaskCreate(str(n)))

    await asyncio.gather(*(added(n) for n in range(6)))

    async with open_store(address) as store:
        assert (await TaskService(store).page("ann")).total == 6


async def test_pages_of_a_table_with_times_of_another_program_end(tmp_path: Path) -> None:
    file = tmp_path / "todo.db"
    with sqlite3.connect(file) as other:
        other.execute(
            "CREATE TABLE tasks (id CHAR(32) PRIMARY KEY, user_id TEXT, title TEXT,"
            " description TEXT, is_completed BOOLEAN, created_at DATETIME, updated_at DATETIME)"
        )
        for n in range(6):
            moment = f"2026-02-07 10:00:0{n // 2}"
            other.execute(
                "INSERT INTO tasks VALUES (?, 'ann', ?, NULL, 0, ?, ?)",
                (uuid4().hex, str(n), moment, moment),
            )
    other.close()

    async with open_store(read_url(f"sqlite:///{file}")) as store:
        tasks, seen, cursor = TaskService(store), [], None
        for _ in range(3):
            page = await tasks.page("ann", limit=2, cursor=cursor)
            seen += page.tasks
            cursor = page.next.cursor if page.next else None

    assert cursor is None
    assert sorted(task.title for task in seen) == [str(n) for n in range(6)]
    assert seen[0].created_at == datetime(2026, 2, 7, 10, 0, 2, tzinfo=UTC)
    assert all(UUID(task.id) for task in seen)


@asynccontextmanager
async def silent_listener() -> AsyncIterator[int]:
    """A port that accepts and says nothing."""
    ended = asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    listener = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1]
        ended.set()


@asynccontextmanager
async def tls_front(backend: int, certificate: Path) -> AsyncIterator[tuple[int, list[str]]]:
    """PostgreSQL's TLS before a server that was built without it; notes each handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    handshakes: list[str] = []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(8) == bytes.fromhex("0000000804d2162f")
        writer.write(b"S")
        try:
            await writer.start_tls(context)
        except (ssl.SSLError, ConnectionError):
            handshakes.append("refused")
            return
        handshakes.append("encrypted")
        there, back = await asyncio.open_connection("127.0.0.1", backend)
        await asyncio.gather(pipe(reader, back), pipe(there, writer), return_exceptions=True)

    front = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with front:
        yield front.sockets[0].getsockname()[1], handshakes


def make_certificate(file: Path) -> None:
    """A self-signed certificate of 127.0.0.1, with its key, as one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, file.stem)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))


@pytest.mark.parametrize(
    ("code", "cure"),
    [
        (sqlite3.SQLITE_FULL, "Make room on the disk of that file"),
        (sqlite3.SQLITE_READONLY, "Let the server's user write to that file and its folder"),
        (sqlite3.SQLITE_CORRUPT, "Bring that file back from a backup"),
    ],
)
def test_what_ails_a_file_is_named_with_its_cure_and_not_worth_another_try(
    code: int, cure: str
) -> None:
    error = sqlite3.OperationalError("words of SQLite's")
    error.sqlite_errorcode = code

    told = explain_sqlite("todo.db", error)

    assert isinstance(told, DatabaseRefusedError)
    assert (told.lasting, told.suggestions) == (True, [cure])


@pytest.mark.parametrize(
    "error", [asyncpg.DiskFullError, asyncpg.PostgresIOError, asyncpg.DataCorruptedError]
)
def test_a_server_whose_disk_fails_has_refused(error: type[asyncpg.PostgresError]) -> None:
    told = explain_running("server", error("words of PostgreSQL's"))

    assert isinstance(told, DatabaseRefusedError)
    assert "the server's disk" in told.suggestions[0]
