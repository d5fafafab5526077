"""Who may meet at the socket: the same user, confined alike; everybody else is served alone."""

import asyncio
import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest
import warm_home
from mcp_host.startup.warm import hosts, wire
from mcp_host.startup.warm.place import Place, PlaceError
from warm_home import WarmHome, frame, has_ended

warm = warm_home.warm
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
CLONE = {"mnt": 0x20000, "net": 0x40000000, "ipc": 0x08000000}


def served(warm: WarmHome, confine: Callable[[], None] | None = None, *before: str) -> int:
    """Serve one call; the process that has run it."""
    listed = frame(1, "tools/list") + b""
    opening = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
    )
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    call = frame(2, "tools/call", name="probe_process", arguments={})
    done = subprocess.run(
        [*before, *warm.home.argv("serve", "--config", "mcp-host.toml", "--warm")],
        cwd=warm.home.project,
        env=warm.home.environment(warm.more),
        input=f"{opening}\n{ready}\n".encode() + listed + call,
        capture_output=True,
        preexec_fn=confine,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = {a["id"]: a for a in map(json.loads, done.stdout.splitlines()) if "id" in a}
    return int(answers[2]["result"]["structuredContent"]["result"])


def no_new_privileges() -> None:
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def another(space: str) -> Callable[[], None]:
    def leave() -> None:
        if ctypes.CDLL(None).unshare(CLONE[space]) != 0:
            os._exit(99)

    return leave


def fewer_capabilities() -> None:
    ctypes.CDLL(None).prctl(24, 0, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_CHOWN


def may_unshare() -> bool:
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize(
    ("confine", "why"),
    [
        (no_new_privileges, "no_new_privs"),
        (fewer_capabilities, "another world"),
        *((another(space), "another world") for space in CLONE),
    ],
    ids=["no_new_privs", "fewer capabilities", *CLONE],
)
async def test_a_confined_session_is_served_alone(
    warm: WarmHome, confine: Callable[[], None], why: str
) -> None:
    if why == "another world" and (os.getuid() != 0 or not may_unshare()):
        pytest.skip("needs the right to make namespaces and to drop capabilities")
    await warm.learn()
    host = await asyncio.to_thread(served, warm)

    own = await asyncio.to_thread(served, warm, confine)

    assert own != host
    assert [each["process"] for each in warm.hosts()] == [host]
    assert why in warm.alone()


async def test_a_host_of_another_world_is_sent_nothing(warm: WarmHome) -> None:
    if os.getuid() != 0 or not may_unshare():
        pytest.skip("needs the right to drop capabilities")
    await warm.learn()
    inside = await asyncio.to_thread(served, warm, fewer_capabilities)

    outside = await asyncio.to_thread(served, warm)

    (name,) = [path.name for path in warm.place.iterdir() if len(path.name) == hosts.NAME_LENGTH]
    assert inside != outside
    assert "another world" in warm.alone()
    place = Place.opened(str(warm.place))
    with pytest.raises(PlaceError, match="another world"):
        hosts.asked(place, name, "status")
    place.close()


def in_the_place_of_a_host(warm: WarmHome) -> tuple[int, socket.socket]:
    """The host that served and has ended, by process, and a socket of ours under its name."""
    host = served(warm)
    (name,) = [path.name for path in warm.place.iterdir() if len(path.name) == hosts.NAME_LENGTH]
    warm.hosts("restart")
    warm_home.eventually(lambda: has_ended(host))
    listening = socket.socket(socket.AF_UNIX)
    folder = os.open(warm.place, os.O_RDONLY)
    listening.bind(f"/proc/self/fd/{folder}/{name}")
    os.close(folder)
    listening.listen()
    return host, listening


HOSTILE = [b"", b"\n", b"=\0\0\0\1", b"x\0", b"+", b"+=", b"\xff" * 5000]


@pytest.mark.parametrize("words", HOSTILE, ids=repr)
async def test_a_hostile_socket_is_told_nothing_and_the_session_is_served(
    warm: WarmHome, words: bytes
) -> None:
    await warm.learn()
    host, listening = await asyncio.to_thread(in_the_place_of_a_host, warm)
    heard = asyncio.create_task(asyncio.to_thread(answer_with, listening, words))

    own = await asyncio.to_thread(served, warm)

    listening.shutdown(socket.SHUT_RDWR)
    assert await heard == b""
    assert own != host and warm.alone() != ""
    listening.close()


def answer_with(listening: socket.socket, words: bytes) -> bytes:
    """Say these words to everyone who connects, until it listens no more; what they say."""
    heard = b""
    while True:
        try:
            peer, _ = listening.accept()
        except OSError:
            return heard
        with peer, suppress(OSError):
            peer.sendall(words)
            peer.shutdown(socket.SHUT_WR)
            heard += peer.recv(4096)


@pytest.mark.parametrize("mode", [0o777, 0o750])
async def test_a_folder_that_others_may_enter_is_not_used(warm: WarmHome, mode: int) -> None:
    await warm.learn()
    warm.place.mkdir(parents=True)
    warm.place.chmod(mode)

    await asyncio.to_thread(served, warm)

    assert list(warm.place.iterdir()) == []


async def test_a_folder_of_somebody_else_is_not_used(warm: WarmHome) -> None:
    if os.getuid() != 0:
        pytest.skip("needs the right to give a folder away")
    await warm.learn()
    warm.place.mkdir(parents=True, mode=0o700)
    os.chown(warm.place, 65534, 65534)

    await asyncio.to_thread(served, warm)

    assert list(warm.place.iterdir()) == []


async def test_a_stale_socket_is_replaced(warm: WarmHome) -> None:
    await warm.learn()
    before = await asyncio.to_thread(served, warm)
    os.kill(before, 9)
    warm_home.eventually(lambda: has_ended(before))

    after = await asyncio.to_thread(served, warm)

    assert [each["process"] for each in warm.hosts()] == [after]


async def test_what_is_no_request_is_refused_and_the_host_lives(warm: WarmHome) -> None:
    await warm.learn()
    host = await asyncio.to_thread(served, warm)
    (name,) = [path.name for path in warm.place.iterdir() if len(path.name) == hosts.NAME_LENGTH]
    folder = os.open(warm.place, os.O_RDONLY)
    sent = [b"", b"\0" * 8, b"\xff" * 100, (5).to_bytes(8, "big") + b"{}{}{"]
    for words in sent:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(f"/proc/self/fd/{folder}/{name}")
            assert peer.recv(1) == wire.HELLO
            peer.sendall(words)
            peer.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                peer.recv(1)
    os.close(folder)

    assert await asyncio.to_thread(served, warm) == host


async def test_where_sockets_are_forbidden_the_session_is_served_alone(warm: WarmHome) -> None:
    """A seccomp filter that denies socket(), as some sandboxes have it."""
    if sys.maxsize < 2**32 or os.uname().machine != "x86_64" or os.getuid() != 0:
        pytest.skip("the filter is written for one machine")
    await warm.learn()

    own = await asyncio.to_thread(served, warm, no_sockets)

    assert warm.hosts() == [] and own > 0


def no_sockets() -> None:
    import struct

    code = [(0x20, 0, 0, 0), (0x15, 0, 1, 41), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in code))
    filters = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
    if ctypes.CDLL(None).prctl(PR_SET_SECCOMP, 2, filters) != 0:
        os._exit(99)


ROOT = pytest.mark.skipif(
    os.getuid() != 0, reason="NOT TESTED with another user: needs the right to become one"
)
NOBODY = 65534


def as_nobody(work: Callable[[], bytes]) -> tuple[int, int]:
    """Do work in a child of another user; its number, and where its result can be read."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(there, work())
        finally:
            os._exit(0)
    os.close(there)
    return child, here


def result(child: int, here: int) -> bytes:
    os.waitpid(child, 0)
    with os.fdopen(here, "rb") as file:
        return file.read()


@ROOT
async def test_another_user_is_refused_even_where_the_folder_lets_it_in(warm: WarmHome) -> None:
    await warm.learn()
    host = await asyncio.to_thread(served, warm)
    (name,) = [path.name for path in warm.place.iterdir() if len(path.name) == hosts.NAME_LENGTH]
    folder = os.open(warm.place, os.O_RDONLY)

    def connect() -> bytes:
        peer = socket.socket(socket.AF_UNIX)
        try:
            os.fchdir(folder)
            peer.connect(name)
        except PermissionError:
            return b"no way in"
        return peer.recv(1000)

    outside = await asyncio.to_thread(result, *as_nobody(connect))
    warm.place.chmod(0o711)
    (warm.place / name).chmod(0o777)
    inside = await asyncio.to_thread(result, *as_nobody(connect))
    warm.place.chmod(0o700)
    os.close(folder)

    assert outside == b"no way in"
    assert inside.startswith(wire.REFUSED)
    assert await asyncio.to_thread(served, warm) == host


@ROOT
async def test_a_host_of_another_user_is_sent_nothing(warm: WarmHome) -> None:
    await warm.learn()
    host, listening = await asyncio.to_thread(in_the_place_of_a_host, warm)

    def greet() -> bytes:
        peer, _ = listening.accept()
        socket.send_fds(peer, [wire.HELLO], [os.memfd_create("heart")])
        return peer.recv(1000)

    heard = as_nobody(greet)
    own = await asyncio.to_thread(served, warm)

    assert await asyncio.to_thread(result, *heard) == b""
    assert own != host and "another world" in warm.alone()
    listening.close()


OWN_PIDS = ("unshare", "--pid", "--fork", "--mount-proc")


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (OWN_PIDS, "the first process"),
        ((*OWN_PIDS, "sh", "-c", '"$@"; exit $?', "sh"), "another world"),
    ],
    ids=["first", "later"],
)
async def test_a_session_of_a_container_is_served_alone(
    warm: WarmHome, before: tuple[str, ...], why: str
) -> None:
    if os.getuid() != 0 or not may_unshare():
        pytest.skip("needs the right to make namespaces")
    await warm.learn()
    host = await asyncio.to_thread(served, warm)

    own = await asyncio.to_thread(served, warm, None, *before)

    assert own != host and (own == 1) == (why == "the first process")
    assert [each["process"] for each in warm.hosts()] == [host]
    assert why in warm.alone()
