"""What the tests of a pack use: a host in process, clients of a real process, a person.

async with hosted({"weather": "mcp_host_weather.plugin"}) as host:
    assert (await host.value("weather_forecast", city="Rome"))["sunny"]
"""

from __future__ import annotations

from .clients import (
    HttpServer,
    ServerExited,
    StdioClient,
    http_server,
    stdio_client,
)
from .hosting import CallFailed, Hosted, hosted
from .person import Person

__all__ = [
    "CallFailed",
    "Hosted",
    "HttpServer",
    "Person",
    "ServerExited",
    "StdioClient",
    "hosted",
    "http_server",
    "stdio_client",
]
