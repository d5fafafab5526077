"""Streamable HTTP: who may call, what every route checks, and a graceful end."""

from __future__ import annotations

import socket
from importlib.util import find_spec

from ....errors import SettingsError
from ....startup.descriptors import close_in_forks
from ...addresses import PATH, is_loopback, listening_socket, refuse_open_address
from ..transport import Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ....host import Host
    from ....settings.loading import Settings
    from ...sdk import SdkSide


class Http(Transport):
    """Serves many clients until a signal comes; an address that is refused is refused first."""

    def __init__(self) -> None:
        self._listening: socket.socket | None = None

    def claim(self, read_settings: Callable[[], Settings]) -> None:
        settings = read_settings()
        http = settings.http
        refuse_open_address(http)
        if http.metrics:
            from ...metrics import check

            check(http)
        if http.limits.calls_per_minute is not None and find_spec("limits") is None:
            raise SettingsError(
                "http.limits.calls_per_minute: this needs what is not installed: "
                'pip install "mcp-host[limits]"'
            )
        if settings.listening is not None:
            self._listening = socket.socket(fileno=settings.listening)
        else:
            self._listening = listening_socket(http.host, http.port)
        close_in_forks(self._listening.fileno())

    def load(self) -> None:
        from . import server  # noqa: F401 - loaded here, used later

    def is_exposed(self, settings: Settings) -> bool:
        return not is_loopback(settings.http.host)

    def keeps_sessions(self, settings: Settings) -> bool:
        return not settings.http.stateless

    @property
    def described(self) -> str:
        host, port = self._claimed.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        return f"listening on http://{name}:{port}{PATH}"

    async def serve(self, host: Host, sdk: SdkSide, stopping: asyncio.Event) -> None:
        from .server import serve

        await serve(host, await sdk.adapter(), self._claimed, stopping)

    @property
    def _claimed(self) -> socket.socket:
        assert self._listening is not None  # `claim` was called first
        return self._listening
