"""The pack as a server of its own: HTTP on port 8080 unless told, or stdio."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_host import SettingsError, Standalone

from .errors import TaskyError
from .storage import Home

# What the settings are made of; how to log is asked elsewhere as well, and shows in no list.
VARIABLES = (
    "TASKY_MCP_TIMEOUT_SECONDS",
    "TASKY_MCP_MAX_CONCURRENT_REQUESTS",
    "TASKY_MCP_PROJECT_PATH",
    "TASKY_MCP_HOST",
    "TASKY_MCP_PORT",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve; ends the process with its exit code."""
    server().main(arguments)


def server() -> Standalone:
    return Standalone(
        pack="tasky",
        module="mcp_host_tasky.plugin",
        server_name="tasky",
        version=version("mcp-host-tasky"),
        program="tasky-mcp",
        description="A project plan that several agents share. "
        "`tasky project init` makes the project.",
        distribution="mcp-host-tasky",
        transport="http",
        started="tasky: serving on stdio",
        tables=tables,
        variables=VARIABLES,
    )


def tables(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Settings from the variables of the existing Tasky's server."""
    pack: dict[str, Any] = {
        "timeout": _number(environment, "TASKY_MCP_TIMEOUT_SECONDS", 60, float),
        "max_concurrency": _number(environment, "TASKY_MCP_MAX_CONCURRENT_REQUESTS", 10, int),
    }
    path = Path(environment.get("TASKY_MCP_PROJECT_PATH") or ".").expanduser().absolute()
    if environment.get("TASKY_MCP_PROJECT_PATH"):
        pack["settings"] = {"root": str(path)}
    return {
        "host": _logging(path, environment),
        "http": {
            "host": environment.get("TASKY_MCP_HOST") or "127.0.0.1",
            "port": _number(environment, "TASKY_MCP_PORT", 8080, int),
        },
        "packs": {"tasky": pack},
    }


def _logging(path: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return how to log, from the section `logging` of the project's settings."""
    try:
        said = Home.of_user(environment).project(path).logging
    except TaskyError:  # told when the plan is opened, with what to do
        return {}
    levels = {"0": "warning", "1": "info", "2": "debug"}
    found = {}
    if level := levels.get(str(said.get("verbosity"))):
        found["log_level"] = level
    if said.get("format") == "json":
        found["log_format"] = "json"
    return found


def _number(environment: Mapping[str, str], name: str, usual: int, kind: type[Any]) -> Any:
    said = environment.get(name)
    try:
        return kind(said) if said else usual
    except ValueError:
        raise SettingsError(f"{name} is {said!r}; it must be a number, as {usual}") from None
