"""A remote behind HTTPS and a password: helpers are used, and nobody waits for a person."""

import http.server
import os
import ssl
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from cortex_lab import Ctx, Repo, git
from mcp_host_cortex_tasks.storage.git import Checkout

USER, PASSWORD = "ann", "open sesame"


class _Backend(http.server.BaseHTTPRequestHandler):
    """Passes what comes with the right password to `git http-backend`."""

    protocol_version = "HTTP/1.1"
    root: Path

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = self.headers.get("Authorization", "").partition(" ")[2]
        if b64decode(given).decode() != f"{USER}:{PASSWORD}":
            self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env=os.environ
            | {
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": USER,
            },
        )
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        named = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in named if name == "Status"), "200 OK")
        headers = [(name, value) for name, value in named if name != "Status"]
        self._answer(int(status.split()[0]), headers, rest)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _any

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Guarded:
    """The clone of a remote that is reached by HTTPS alone, and a folder for helpers."""

    repo: Repo
    tools: Path

    def helper(self, text: str) -> Path:
        """Let git ask this script for the password; return where it notes what it is asked."""
        seen = self.tools / "seen"
        path = self.tools / "helper"
        noted = f'echo "$1 gcm=$GCM_INTERACTIVE prompt=$GIT_TERMINAL_PROMPT" >> {seen}'
        path.write_text(f"#!/bin/sh\n{noted}\n[ $1 = get ] || exit 0\n{text}\n")
        path.chmod(0o755)
        self.repo.git("config", "credential.helper", str(path))
        return seen


@pytest.fixture
def guarded(
    ctx: Ctx, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Guarded]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "ca.pem"))
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(secure)
    assert repo.bare
    git(repo.bare, "config", "http.receivepack", "true")
    handler = type("Handler", (_Backend,), {"root": repo.bare.parent})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket = secure.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    address = f"https://127.0.0.1:{server.server_port}/{repo.bare.name}"
    repo.git("remote", "set-url", "origin", address)
    yield Guarded(repo, tmp_path)
    server.shutdown()
    server.server_close()
    thread.join()


TELLS = f"echo username={USER}; echo 'password={PASSWORD}'"


def test_a_task_goes_from_start_to_done_over_https_with_a_helper(
    ctx: Ctx, guarded: Guarded
) -> None:
    repo = guarded.repo
    seen = guarded.helper(TELLS)
    started = ctx.run_process("tasks", "start", str(ctx.new()), "--json", at=repo.folder)
    assert (started.code, started.data["claim"]) == (0, "remote"), started.out
    tip = repo.commit()
    pushed = ctx.run_process("tasks", "pr", "--json", at=repo.folder)
    assert pushed.code == 0, pushed.out
    branch = started.data["branch"]
    assert git(repo.bare, "rev-parse", branch) == tip  # type: ignore[arg-type]
    repo.merge_on_remote(branch)
    done = ctx.run_process("tasks", "done", "--json", at=repo.folder)
    assert (done.code, done.data["proof"]) == (0, "ancestor"), done.out
    said = set(seen.read_text().splitlines())
    assert "get gcm=never prompt=0" in said
    assert all("gcm=never prompt=0" in line for line in said)
    assert PASSWORD not in started.out + pushed.out + done.out + started.err + pushed.err


@pytest.mark.parametrize("told", ["", "echo username=ann; echo password=wrong"])
def test_a_helper_that_does_not_know_the_password_ends_the_push_and_nothing_is_asked(
    ctx: Ctx, guarded: Guarded, told: str
) -> None:
    guarded.repo.git("switch", "-qc", "feature/task-1-by-hand")
    guarded.repo.commit()
    ctx.new()
    guarded.helper(told)
    run = ctx.run_process("tasks", "pr", "--json", at=guarded.repo.folder)
    assert run.code != 0
    error = run.data["error"].lower()
    assert "authentication failed" in error or "could not read username" in error
    assert "wrong" not in run.out


def test_a_helper_that_does_not_answer_is_ended_and_named(ctx: Ctx, guarded: Guarded) -> None:
    ctx.set(timeout="1")
    ctx.new()
    guarded.repo.git("switch", "-qc", "feature/task-1-by-hand")
    guarded.repo.commit()
    guarded.helper("sleep 600; true")
    run = ctx.fails("tasks", "pr", at=guarded.repo.folder)
    error = run.data["error"]
    assert "did not answer within 1 s" in error
    assert error.startswith(str(guarded.tools / "helper"))


def test_who_is_asked_for_a_password_has_20_seconds(ctx: Ctx, repo: Repo) -> None:
    assert ctx("config", "unset", "timeout").code == 0
    assert ctx.json("config", "get", "timeout")["value"] == 20
    assert Checkout.open(repo.folder, reach_limit=20).asking.limit == 20
