"""Packs for the tests of commands: one prints, one opens as told, one presses Ctrl-C."""

LOUD = """
import os, sys
print("NOISE at import"); os.write(1, b"NOISE to the descriptor\\n")
from mcp_host import hookimpl, prompt, resource, tool
@tool
def shout() -> str:
    print("NOISE in the tool"); sys.__stdout__.write("NOISE to the old stdout\\n")
    return "quiet"
@resource("loud://text")
def text() -> str: return "a text"
@prompt
def ask(what: str) -> str: return f"Ask {what}"
@hookimpl
def mcp_host_tools(): print("NOISE in a hook"); return [shout]
@hookimpl
def mcp_host_resources(): return [text]
@hookimpl
def mcp_host_prompts(): return [ask]
"""
OPENS = """
from contextlib import asynccontextmanager
from mcp_host import hookimpl
@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    {body}
    yield None
"""
PRESSES = """
import os, subprocess, sys, time
from mcp_host import hookimpl, tool
KILL = "import os, signal, sys; os.kill(int(sys.argv[1]), signal.SIGINT)"
def press():
    subprocess.run([sys.executable, "-c", KILL, str(os.getpid())])
    time.sleep(60)
if "{where}" == "import":
    press()
@tool(timeout=60)
def hang() -> str:
    press()
@hookimpl
def mcp_host_tools(): return [hang]
"""
DESK = ("--config", "desk.toml")
