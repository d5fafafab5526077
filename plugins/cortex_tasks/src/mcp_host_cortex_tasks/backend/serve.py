"""Serve the API on a port, and say where."""

import socket
import sys
from pathlib import Path

import uvicorn

from ..errors import InvalidError, RefusedError
from ..storage.files import private_folder
from .access import PREFIX
from .app import make_app
from .logins import token_secret


def serve(*, host: str, port: int, database: str | None, home: Path, registration: bool) -> None:
    """Serve until the process is ended. The address goes to stderr once the port listens."""
    if not 0 <= port <= 65535:
        raise InvalidError(f"{port} is not a port; it must be from 0 to 65535.")
    private_folder(home)
    url = database or f"sqlite:///{_private_file(home / 'backend.db')}"
    app = make_app(url, token_secret(home), registration=registration)
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}{PREFIX}"
    sys.stderr.write(f"Cortex backend listening on {address}\n")
    sys.stderr.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


def _private_file(path: Path) -> Path:
    path.touch(mode=0o600)
    return path


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise RefusedError(
            f"Cannot listen on {host}:{port}: {error.strerror}",
            reason="port_taken",
            suggestions=["Take a free one: --port 0"],
        ) from None
    listening.listen(128)
    return listening
