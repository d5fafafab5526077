"""A pack whose import takes until somebody writes to a fifo; then all is well with it."""

import os
from pathlib import Path

from mcp_host import hookimpl, prompt, resource, tool

Path(os.environ["MISBEHAVING_SIGN"]).read_text()


@tool
def late() -> str:
    """Be late."""
    return "late"


@prompt
def ask() -> str:
    """Ask late."""
    return "late"


@resource("slow://late", mime="text/plain")
def text() -> str:
    """A text that is late."""
    return "late"


@hookimpl
def mcp_host_tools():
    return [late]


@hookimpl
def mcp_host_prompts():
    return [ask]


@hookimpl
def mcp_host_resources():
    return [text]
