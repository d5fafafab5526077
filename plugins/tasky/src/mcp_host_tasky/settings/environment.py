"""Settings from the variables of the existing Tasky's server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp_host import SettingsError

from ..errors import TaskyError
from ..storage import Home


def tables_of(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Return settings in the shape of mcp-host.toml."""
    pack: dict[str, Any] = {
        "timeout": _number(environment, "TASKY_MCP_TIMEOUT_SECONDS", 60, float),
        "max_concurrency": _number(environment, "TASKY_MCP_MAX_CONCURRENT_REQUESTS", 10, int),
    }
    path = Path(environment.get("TASKY_MCP_PROJECT_PATH") or ".").expanduser().absolute()
    if environment.get("TASKY_MCP_PROJECT_PATH") or _is_home_with_plan(path, environment):
        pack["settings"] = {"root": str(path)}
    return {
        "host": _logging(path, environment),
        "http": {
            "host": environment.get("TASKY_MCP_HOST") or "127.0.0.1",
            "port": _number(environment, "TASKY_MCP_PORT", 8080, int),
        },
        "packs": {"tasky": pack},
    }


def _is_home_with_plan(path: Path, environment: Mapping[str, str]) -> bool:
    """Whether the server was started in a home that is a project. The host takes no home for one by
    itself, since many clients start servers there; one with a plan was made to be one."""
    home = Home.of_user(environment)
    if path.resolve() != home.folder.parent.resolve():
        return False
    try:
        home.project_at(path)
    except TaskyError as error:
        return error.reason != "no_project"  # what is wrong with it is told when it is opened
    return True


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
