"""What the tests of a pack use: a host in process, clients of a real process, a person.

async with hosted({"weather": "mcp_host_weather.plugin"}) as host:
    assert (await host.value("weather_forecast", city="Rome"))["sunny"]
"""

from __future__ import annotations

from .clients import StdioClient, stdio_client
from .contract import ContractFinding, PackContract, check_pack
from .environment import EnvironmentReads, environment_reads
from .frames import ServerExited
from .hosting import CallFailed, Hosted, hosted
from .http_server import HttpServer, http_server
from .person import Person

__all__ = [
    "CallFailed",
    "ContractFinding",
    "EnvironmentReads",
    "Hosted",
    "HttpServer",
    "PackContract",
    "Person",
    "ServerExited",
    "StdioClient",
    "check_pack",
    "environment_reads",
    "hosted",
    "http_server",
    "stdio_client",
]
