"""An authorization server and a server that wants its tokens, each at an address of its own."""

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

LONGEST = 30.0


@dataclass
class People:
    """The authorization server's memory: it agrees to every login, and gives each token once.

    `seconds` is how long the tokens are good that it gives next; `heard` has the headers of every
    request to the server that wants them.
    """

    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refresh: dict[str, RefreshToken] = field(default_factory=dict)
    heard: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    issuer: str = ""
    seconds: int = 3600
    refuses: bool = False

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        way_back = str(params.redirect_uri)
        if self.refuses:
            return construct_redirect_uri(way_back, error="access_denied", state=params.state)
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(way_back, code=code, state=params.state, iss=self.issuer)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._given(client.client_id, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,
        refresh_token: RefreshToken,
        scopes: list[str],
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._given(client.client_id, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def verify_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError

    async def exchange_identity_assertion(self, *_: Any) -> OAuthToken:
        raise NotImplementedError

    def _given(self, client: str, resource: str | None) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=[], resource=resource
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client, scopes=[], resource=resource
        )
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.seconds, scope=""
        )


class Listening:
    """An application that remembers the headers of what it is asked."""

    def __init__(self, app: ASGIApp, people: People) -> None:
        self._app, self._people = app, people

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = {name.decode(): value.decode() for name, value in scope["headers"]}
            self._people.heard.append(given)
        await self._app(scope, receive, send)


@contextmanager
def two_servers() -> Iterator[People]:
    """Both servers on loopback; the one that wants a login has the tool `whoami`."""
    people = People()
    with ExitStack() as stack:
        at, there = listener(), listener()
        people.issuer, people.url = f"{address(at)}/", f"{address(there)}/mcp"
        options = ClientRegistrationOptions(enabled=True)
        routes = create_auth_routes(
            people, AnyHttpUrl(people.issuer), client_registration_options=options
        )
        stack.enter_context(serving(Starlette(routes=routes), at))
        settings = AuthSettings(
            issuer_url=AnyHttpUrl(people.issuer),
            resource_server_url=AnyHttpUrl(people.url),
            validate_token_resource=True,
        )
        server = MCPServer("tracker", version="3", token_verifier=people, auth=settings)

        @server.tool()
        def whoami() -> str:
            """Say who asks."""
            return "somebody who is logged in"

        app = server.streamable_http_app()
        stack.enter_context(serving(Listening(app, people), there))
        yield people


def listener() -> socket.socket:
    """A free port of loopback that is listened on."""
    return socket.create_server(("127.0.0.1", 0))


def address(listening: socket.socket) -> str:
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def serving(app: ASGIApp, at: socket.socket) -> Iterator[None]:
    """Serve an application in a thread."""
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(LONGEST)
        at.close()
