"""Issuers of tokens that are not in this repository: keys of their own, told over real HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE = "https://mcp.example.org/mcp"


class Issuer:
    """One issuer; `rotate` gives it another key, and `pages` is what it tells, by path.

    One that `drips` sends a blank every now and then, and never a whole answer.
    """

    def __init__(self, algorithm: str, port: int, scopes: list[str] | None = None) -> None:
        self.algorithm, self.url = algorithm, f"http://127.0.0.1:{port}"
        self.pages: dict[str, Any] = {}
        self.drips = False
        self.asked: list[str] = []
        self._number = 0
        self.rotate()
        metadata = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if scopes is not None:
            metadata["scopes_supported"] = scopes  # type: ignore[assignment]  # a list among texts
        self.pages["/.well-known/oauth-authorization-server"] = metadata

    def rotate(self) -> None:
        """Sign by a new key from now on, and tell of it alone."""
        self._number += 1
        self.kid = f"key-{self._number}"
        made: Any = (
            ec.generate_private_key(ec.SECP256R1())
            if self.algorithm == "ES256"
            else rsa.generate_private_key(65537, 2048)
        )
        self.key = made
        algorithm = jwt.get_algorithm_by_name(self.algorithm)
        told = json.loads(algorithm.to_jwk(made.public_key()))
        self.pages["/keys"] = {"keys": [{**told, "kid": self.kid, "use": "sig"}]}

    def token(self, subject: str, scope: str = "", **claims: Any) -> str:
        """A token of this issuer; `claims` stand for the usual ones."""
        told = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": subject,
            "scope": scope,
            "iat": int(time.time()) - 60,
            "exp": int(time.time()) + 3600,
            **claims,
        }
        return jwt.encode(told, self.key, self.algorithm, {"kid": self.kid})


@contextmanager
def issuer(algorithm: str, scopes: list[str] | None = None) -> Iterator[Issuer]:
    """An issuer that is there on loopback."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            page = made.pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.end_headers()
            with suppress(OSError):
                while made.drips and not ending.wait(0.2):
                    self.wfile.write(b" ")
            self.wfile.write(json.dumps(page).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    ending = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    made = Issuer(algorithm, server.server_address[1], scopes)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        ending.set()
        server.shutdown()
        server.server_close()
        thread.join()
