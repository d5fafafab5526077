"""Connections that break, are given up, or pass a pooler: every answer stays true."""

import asyncio
import re
import struct
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import asyncpg
import pytest
from mcp_host.testing import Hosted, hosted
from mcp_host_todo_db.errors import DatabaseBusyError
from mcp_host_todo_db.model import TaskCreate
from mcp_host_todo_db.service import TaskService
from mcp_host_todo_db.storage import create_tables, open_store, read_url
from mcp_host_todo_db.storage.migrating import migrate

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

PACK = {"todo_db": "mcp_host_todo_db.plugin"}
Cut = Literal["before", "in the middle", "after"]


async def test_three_adds_whose_answers_were_lost_say_that_they_may_have_been_made(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        await host.value("todo_db_list_tasks", user_id="ann")
        envelopes = []
        for n in range(3):
            wire.cut = "in the middle"
            envelopes.append(await host.error("todo_db_add_task", user_id="ann", title=str(n)))

        kept = await host.value("todo_db_list_tasks", user_id="ann")

    assert kept["total"] == 3
    for envelope in envelopes:
        assert (envelope["code"], envelope["retryable"]) == ("unavailable", False)
        assert envelope["details"]["reason"] == "connection_lost"
        assert envelope["details"]["outcome"] == "unknown"
        assert "List the tasks" in envelope["suggestions"][0]


@pytest.mark.parametrize("cut", ["before", "in the middle", "after"])
async def test_what_is_said_of_a_cut_call_agrees_with_the_rows(
    server: "Server", schema: str, cut: Cut
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        for tool, more, repeatable in (
            ("add_task", {"title": "second"}, False),
            ("complete_task", {}, False),
            ("complete_task", {"completed": True}, True),
            ("update_task", {"title": "new"}, True),
            ("delete_task", {}, True),
        ):
            made = await host.value("todo_db_add_task", user_id="ann", title="first")
            which = {} if tool == "add_task" else {"task_id": made["task_id"]}
            before = await rows_of(server, schema)
            wire.cut = cut
            result = await host.call(f"todo_db_{tool}", user_id="ann", **which, **more)

            assert wire.cut is None
            assert (await rows_of(server, schema) != before) is (cut != "before")
            assert result["isError"] is (cut != "after")
            if cut != "after":
                envelope = result["_meta"]["mcp-host/error"]
                assert (envelope["code"], envelope["retryable"]) == ("unavailable", repeatable)
                assert envelope["details"].get("outcome") == (None if repeatable else "unknown")


@pytest.mark.parametrize("cut", ["before", "in the middle", "after"])
async def test_a_cut_call_with_a_key_is_made_once_however_often_it_is_repeated(
    server: "Server", schema: str, cut: Cut
) -> None:
    await migrate(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        for tool, more in (
            ("add_task", {"title": "second"}),
            ("complete_task", {}),
            ("complete_task", {"completed": True}),
            ("update_task", {"title": "new"}),
            ("update_task", {}),
            ("delete_task", {}),
        ):
            for comes_back in (True, False):
                made = await host.value("todo_db_add_task", user_id="ann", title="first")
                which = {} if tool == "add_task" else {"task_id": made["task_id"]}
                call = {"user_id": "ann", **which, **more, "request_key": str(uuid4())}
                before = await rows_of(server, schema)
                wire.cut, wire.refuses_next = cut, 0 if comes_back else 1
                result = await host.call(f"todo_db_{tool}", **call)

                assert wire.cut is None
                assert result["isError"] is not (comes_back or cut == "after")
                if result["isError"]:
                    envelope = result["_meta"]["mcp-host/error"]
                    assert (envelope["code"], envelope["retryable"]) == ("unavailable", True)
                    assert "outcome" not in envelope["details"]
                wire.refuses_next = 0
                answers = [await host.value(f"todo_db_{tool}", **call) for _ in range(2)]
                after = await rows_of(server, schema)

                assert answers[0] == answers[1]
                assert result["isError"] or result["structuredContent"] == answers[0]
                difference = {"add_task": 1, "delete_task": -1}.get(tool, 0)
                assert len(after) - len(before) == difference
                if tool == "complete_task":
                    (task,) = (row for row in after if str(row[0]) == made["task_id"])
                    assert (task[4], answers[0]["status"]) == (True, "completed")


async def test_a_list_whose_connection_breaks_is_answered_all_the_same(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        await host.value("todo_db_add_task", user_id="ann", title="t")
        for cut in ("before", "in the middle", "after"):
            wire.cut = cut

            page = await host.value("todo_db_list_tasks", user_id="ann")

            assert page["total"] == 1
            assert wire.cut is None


@pytest.mark.parametrize("is_said", [False, True])
async def test_connections_that_broke_while_they_rested_cost_nobody_an_answer(
    server: "Server", schema: str, is_said: bool
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        adding = (host.value("todo_db_add_task", user_id="ann", title=str(n)) for n in range(20))
        await asyncio.gather(*adding)
        await (wire.say_goodbye() if is_said else wire.break_all())

        adding = (host.value("todo_db_add_task", user_id="ann", title=str(n)) for n in range(20))
        await asyncio.gather(*adding)

        assert (await host.value("todo_db_list_tasks", user_id="ann"))["total"] == 40


async def test_where_no_connection_can_be_made_nothing_was_sent_and_the_call_may_be_made_again(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with breaking(server.port) as wire, served(through(wire, server, schema)) as host:
        await host.value("todo_db_add_task", user_id="ann", title="first")
        wire.refuses = True
        await wire.break_all()

        envelope = await host.error("todo_db_add_task", user_id="ann", title="second")

        assert (envelope["code"], envelope["retryable"]) == ("unavailable", True)
        assert envelope["details"]["reason"] == "database_unreachable"
        assert "outcome" not in envelope["details"]
        wire.refuses = False
        assert (await host.value("todo_db_list_tasks", user_id="ann"))["total"] == 1


async def test_a_call_is_one_round_trip_with_nothing_before_and_nothing_after(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with (
        breaking(server.port) as wire,
        open_store(read_url(through(wire, server, schema)), pool_size=1) as store,
    ):
        tasks = TaskService(store)
        made = await tasks.add("ann", TaskCreate("t"))
        for use in (tasks.page, lambda user: tasks.complete(user, made.id)):
            await use("ann")  # which prepares the statement on this connection
            wire.batches.clear()
            await use("ann")

            assert wire.batches == ["BES"]


async def test_prepared_statements_have_names_that_no_other_process_gives(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with (
        breaking(server.port) as wire,
        open_store(read_url(through(wire, server, schema))) as store,
    ):
        wire.prepared.clear()
        await TaskService(store).page("ann")

    (name,) = wire.prepared
    assert re.fullmatch("todo_stmt_[0-9a-f]{32}", name)


async def test_calls_that_were_given_up_leave_every_connection_to_the_others(
    server: "Server", schema: str
) -> None:
    url = server.url(schema)
    await create_tables(read_url(url))
    async with open_store(read_url(url), pool_size=10) as store, locked_row(server, schema) as row:
        tasks = TaskService(store)
        waiting = [asyncio.create_task(tasks.complete("ann", row)) for _ in range(30)]
        await blocked_backends(server, 10)
        for call in waiting:
            call.cancel()
        ended = await asyncio.gather(*waiting, return_exceptions=True)

        async with asyncio.timeout(30):
            await asyncio.gather(*(tasks.add("bob", TaskCreate(str(n))) for n in range(20)))

        assert all(isinstance(end, asyncio.CancelledError) for end in ended)
        assert (await tasks.page("bob")).total == 20
        await blocked_backends(server, 0)


async def test_a_statement_ends_at_its_limit_with_nothing_done(
    server: "Server", schema: str
) -> None:
    url = server.url(schema)
    await create_tables(read_url(url))
    async with (
        open_store(read_url(url), statement_timeout=0.2) as store,
        locked_row(server, schema) as row,
    ):
        tasks = TaskService(store)
        with pytest.raises(DatabaseBusyError):
            await tasks.complete("ann", row)
        assert not (await tasks.page("ann")).tasks[0].is_completed

    own = url + "&statement_timeout=100"
    async with open_store(read_url(own)) as store, locked_row(server, schema) as row:
        with pytest.raises(DatabaseBusyError):
            await TaskService(store).complete("ann", row)


async def test_whether_a_late_call_may_be_repeated_is_decided_for_the_call(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    table = {"settings": {"url": server.url(schema)}, "tools": {"complete_task": {"timeout": 1}}}
    async with (
        hosted(PACK, {"packs": {"todo_db": table}}) as host,
        locked_row(server, schema) as row,
    ):
        for more, repeatable in (({"completed": True}, True), ({}, False)):
            envelope = await host.error("todo_db_complete_task", user_id="ann", task_id=row, **more)

            assert (envelope["code"], envelope["retryable"]) == ("timeout", repeatable)
            known = envelope.get("details", {}).get("outcome")
            assert known == (None if repeatable else "unknown")


async def test_a_pooler_that_knows_no_limit_of_statements_is_connected_without(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with pooler(server, schema) as (url, pool):
        pool.known = {"user", "database", "client_encoding", "application_name", "search_path"}
        async with open_store(read_url(f"{url}&pgbouncer=true")) as store:
            await TaskService(store).add("ann", TaskCreate("t"))
        pool.sticky = True
        async with open_store(read_url(url)) as store:
            assert (await TaskService(store).page("ann")).total == 1


async def test_behind_a_transaction_pooler_its_option_makes_every_call_work(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with (
        pooler(server, schema) as (url, _),
        open_store(read_url(f"{url}&pgbouncer=true"), pool_size=3) as store,
    ):
        tasks = TaskService(store)
        made = await asyncio.gather(*(tasks.add("ann", TaskCreate(str(n))) for n in range(12)))
        for task in made:
            assert (await tasks.complete("ann", task.id)).is_completed

        assert (await tasks.page("ann", "completed")).total == 12


async def test_a_transaction_pooler_without_its_option_is_named(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with pooler(server, schema) as (url, pool):
        pool.sticky = True  # as a quiet pooler gives everybody the same connection again
        async with served(url) as host:
            made = await host.value("todo_db_add_task", user_id="ann", title="t")
            pool.sticky = False
            envelopes = []
            for _ in range(6):
                more = {"user_id": "ann", "task_id": made["task_id"], "completed": True}
                result = await host.call("todo_db_complete_task", **more)
                envelopes += [result["_meta"]["mcp-host/error"]] if result["isError"] else []

        assert envelopes
        for envelope in envelopes:
            assert (envelope["code"], envelope["retryable"]) == ("unavailable", False)
            assert envelope["details"]["reason"] == "transaction_pooler"
            assert envelope["suggestions"] == [
                "Add pgbouncer=true to the url in the pack's settings"
            ]


def through(front: "Breaking", server: "Server", schema: str) -> str:
    """The URL of a schema, by way of a front."""
    url = server.url(schema, sslmode="disable")
    return url.replace(f":{server.port}/", f":{front.port}/")


def served(url: str) -> AbstractAsyncContextManager[Hosted]:
    return hosted(PACK, {"packs": {"todo_db": {"settings": {"url": url}}}})


async def rows_of(server: "Server", schema: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(server.admin_url)
    rows = await connection.fetch(f"SELECT * FROM {schema}.tasks ORDER BY id")
    await connection.close()
    return [tuple(row) for row in rows]


@asynccontextmanager
async def locked_row(server: "Server", schema: str) -> AsyncIterator[str]:
    """A pending task of Ann's that somebody else holds."""
    task_id = str(uuid4())
    connection = await asyncpg.connect(server.admin_url)
    await connection.execute(
        f"INSERT INTO {schema}.tasks VALUES ($1, 'ann', 't', NULL, false, now(), now())", task_id
    )
    try:
        async with connection.transaction():
            await connection.execute(
                f"SELECT 1 FROM {schema}.tasks WHERE id = $1 FOR UPDATE", task_id
            )
            yield task_id
    finally:
        await connection.close()


async def blocked_backends(server: "Server", count: int) -> None:
    """Wait until so many of the pack's statements wait for a lock."""
    connection = await asyncpg.connect(server.admin_url)
    blocked = (
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'todo' AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(30):
        while await connection.fetchval(blocked) != count:
            pass
    await connection.close()


async def first_message(reader: asyncio.StreamReader) -> bytes:
    """What a client says first, with its length and without a type."""
    length = await reader.readexactly(4)
    return length + await reader.readexactly(struct.unpack("!i", length)[0] - 4)


async def message(reader: asyncio.StreamReader) -> bytes:
    """One message of PostgreSQL's protocol: its type, its length, its content."""
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)


async def batch(reader: asyncio.StreamReader) -> list[bytes]:
    """What a client sends before it waits for an answer."""
    messages = [await message(reader)]
    while messages[-1][:1] not in b"SQHpX":
        messages.append(await message(reader))
    return messages


class Breaking:
    """A front of a PostgreSQL server that cuts connections at a chosen moment.

    `cut` says when the next statement that is executed loses its connection: before the server
    has it, after the server did it and before its answer passes, or after the answer. `batches`
    are the types of the messages that clients sent together, `prepared` the names of statements.
    While it `refuses`, a connection ends as it begins, and so do the `refuses_next` ones.
    """

    def __init__(self, backend: int) -> None:
        self.backend = backend
        self.port = 0
        self.cut: Cut | None = None
        self.refuses = False
        self.refuses_next = 0
        self.batches: list[str] = []
        self.prepared: list[str] = []
        self._open: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.StreamWriter] = set()

    async def say_goodbye(self) -> None:
        """Say on every connection that it will end, as a pooler whose server is gone does."""
        for writer in self._clients:
            told = b"SFATAL\0C08P01\0Mserver login has been failing\0\0"
            writer.write(b"E" + struct.pack("!i", len(told) + 4) + told)
            await writer.drain()

    async def break_all(self) -> None:
        """Close every connection, and wait until that is done."""
        for writer in self._open:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._open))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses or self.refuses_next:
            self.refuses_next = max(0, self.refuses_next - 1)
            writer.close()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self.backend)
        self._open |= {writer, back}
        self._clients.add(writer)
        idle, muted = asyncio.Event(), asyncio.Event()
        answers = asyncio.create_task(self._answer(there, writer, idle, muted))
        try:
            back.write(await first_message(reader))
            while True:
                messages = await batch(reader)
                self.batches.append("".join(chr(one[0]) for one in messages))
                self.prepared += [
                    one[5:].partition(b"\0")[0].decode() for one in messages if one[:1] == b"P"
                ]
                cut = self.cut if "E" in self.batches[-1] else None
                if cut is not None:
                    self.cut = None
                if cut == "before":
                    return
                if cut == "in the middle":
                    muted.set()
                idle.clear()
                back.write(b"".join(messages))
                if cut is not None:
                    await idle.wait()
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()
            back.close()
            self._open -= {writer, back}
            self._clients.discard(writer)
            await answers

    async def _answer(
        self,
        there: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        idle: asyncio.Event,
        muted: asyncio.Event,
    ) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                one = await message(there)
                if not muted.is_set():
                    writer.write(one)
                if one[:1] == b"Z":
                    idle.set()
        writer.close()


@asynccontextmanager
async def breaking(backend: int) -> AsyncIterator[Breaking]:
    front = Breaking(backend)
    listener = await asyncio.start_server(front.serve, "127.0.0.1", 0)
    front.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield front
        await front.break_all()


class Pooler:
    """Two connections to a server, of which every transaction gets the next one.

    `sticky` gives all of them the first, as a pooler with little to do does. `known` are the
    session's parameters that it lets pass; others end the connection, as PgBouncer does it.
    """

    def __init__(self, port: int, schema: str) -> None:
        self.known: set[str] | None = None
        self.sticky = False
        self.port = 0
        self._backend, self._schema = port, schema
        self._links: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._welcome = b""
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._backend)
            told = {"user": "postgres", "database": "postgres", "search_path": self._schema}
            content = b"".join(f"{k}\0{v}\0".encode() for k, v in told.items()) + b"\0"
            writer.write(struct.pack("!ii", len(content) + 8, 196608) + content)
            welcome = b""
            while not welcome.endswith(b"Z\0\0\0\5I"):
                welcome += await message(reader)
            self._links.append((reader, writer))
            self._welcome = welcome

    async def close(self) -> None:
        for _, writer in self._links:
            writer.close()
            await writer.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if await self._admitted(await first_message(reader), writer):
                while await self._transaction(reader, writer):
                    pass
        writer.close()

    async def _admitted(self, startup: bytes, writer: asyncio.StreamWriter) -> bool:
        names = {name.decode() for name in startup[8:].split(b"\0")[:-2:2]}
        if self.known is None or names <= self.known:
            writer.write(self._welcome)
            return True
        (unknown, *_) = names - self.known
        told = f"SFATAL\0C08P01\0Munsupported startup parameter: {unknown}\0\0".encode()
        writer.write(b"E" + struct.pack("!i", len(told) + 4) + told)
        await writer.drain()
        return False

    async def _transaction(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        messages = await batch(reader)
        async with self._turn:
            if not self.sticky:
                self._links.reverse()
            from_server, to_server = self._links[0]
            while messages[-1][:1] != b"X":
                to_server.write(b"".join(messages))
                if messages[-1][:1] == b"H" and messages[0][:1] == b"P":
                    await relayed(from_server, writer, b"Tn")
                elif await relayed(from_server, writer, b"Z") == b"I":
                    return True
                messages = await batch(reader)
        return False


async def relayed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, last: bytes) -> bytes:
    """Pass on a server's messages up to one of these types, or an error; the last byte of it."""
    while True:
        one = await message(reader)
        writer.write(one)
        if one[:1] in last or (one[:1] == b"E" and b"Z" not in last):
            return one[-1:]


@asynccontextmanager
async def pooler(server: "Server", schema: str) -> AsyncIterator[tuple[str, Pooler]]:
    """A URL that leads through a pooler in transaction mode, and the pooler."""
    pool = Pooler(server.port, schema)
    await pool.open()
    listener = await asyncio.start_server(pool.serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server.url(schema, sslmode="disable").replace(f":{server.port}/", f":{port}/"), pool
    await pool.close()
