"""A setting without a default."""

from mcp_host import hookimpl, tool
from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    url: str


@tool(read_only=True, open_world=False)
def forecast() -> str:
    """Return tomorrow's weather."""
    return "sun"


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
def mcp_host_tools():
    return [forecast]
