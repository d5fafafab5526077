"""`mcp-host demo`: the host as a real process, a real client, and every pack at work."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import importlib_metadata
import typer

from ..catalog import Naming
from ..errors import ERROR_KEY, SettingsError
from ..inventory import PACKS_URI
from ..packs import Declared, Offer
from ..settings import PackTable
from ..stage import GROUP, Demonstration
from .common import Output

if TYPE_CHECKING:
    from mcp import Client

SHOWN_LINES = 14
SHOWN_WIDTH = 110
FAREWELL = """\
  mcp-host init             writes ./mcp-host.toml, asks which packs to enable
  mcp-host doctor           looks whether all is well
  mcp-host install CLIENT   connects claude-desktop, claude-code, cursor,
                            vscode, windsurf, zed, gemini-cli or codex"""


def demo(names: list[str] | None, keep: bool) -> None:
    """Show these packs, or all that are installed; `keep` leaves the scratch folder."""
    output = Output()
    demonstrations = _demonstrations(names or [])
    folder = Path(tempfile.mkdtemp(prefix="mcp-host-demo-")).resolve()
    try:
        config = _prepare(folder, demonstrations)
        well = asyncio.run(_play(output, folder, config, demonstrations))
    finally:
        if not keep:
            _remove(folder)
    _farewell(output, folder if keep else None)
    raise typer.Exit(0 if well else 1)


def _demonstrations(names: list[str]) -> dict[str, Demonstration]:
    found = {point.name: point for point in importlib_metadata.entry_points(group=GROUP)}
    for name in names:
        if name not in found:
            known = ", ".join(sorted(found)) or "none"
            raise SettingsError(
                f"no pack '{name}' with a demonstration is installed; there are {known}"
            )
    chosen = names or sorted(found)
    if not chosen:
        raise SettingsError(
            'no pack with a demonstration is installed; try: pip install "mcp-host[todo-db]"'
        )
    return {name: found[name].load() for name in chosen}


def _prepare(folder: Path, demonstrations: Mapping[str, Demonstration]) -> Path:
    """A scratch project for each pack, and a settings file that enables them all."""
    import tomli_w

    packs: dict[str, Any] = {}
    for name, demonstration in demonstrations.items():
        own = folder / name
        own.mkdir()
        packs[name] = {"enabled": True, "settings": dict(demonstration.prepare(own))}
    config = folder / "mcp-host.toml"
    config.write_text(tomli_w.dumps({"packs": packs}), "utf-8")
    return config


async def _play(
    output: Output, folder: Path, config: Path, demonstrations: Mapping[str, Demonstration]
) -> bool:
    from mcp import Client, StdioServerParameters

    command = [sys.executable, "-m", "mcp_host", "serve", "--config", str(config)]
    output.styled(f"[dim]$ {_escaped(shlex.join(['mcp-host', *command[3:]]))}[/]")
    server = StdioServerParameters(
        command=command[0],
        args=[*command[1:], "--log-level", "error", "--no-catalogue"],
        cwd=str(folder),
        env=_scratch_environment(folder),
    )
    well = True
    async with Client(server, elicitation_callback=_agree) as client:
        tools = (await client.list_tools()).tools
        await client.read_resource(PACKS_URI)  # once it is read, the server has said that it serves
        output.text(f"A client has connected; it sees {len(tools)} tools.")
        for name, demonstration in demonstrations.items():
            stage = _Stage(output, client, name, folder / name)
            output.styled(f"\n[bold cyan]── {name} {'─' * (70 - len(name))}[/]")
            try:
                await demonstration.play(stage)
            except Exception as error:
                output.styled(f"[red]the demonstration of {name} broke off: {_escaped(error)}[/]")
                well = False
    return well


class _Stage:
    """What `stage.Stage` promises, over the SDK's own client."""

    def __init__(self, output: Output, client: Client, pack: str, folder: Path) -> None:
        self.folder = folder
        self._output, self._client = output, client
        table = PackTable(enabled=True)
        self._public = Naming(Declared(pack, Offer(pack, "", "", ""), table)).public

    def say(self, text: str) -> None:
        self._output.styled(f"\n[bold]{_escaped(text)}[/]")

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        name = self._public(tool)
        self._asked(name, _shortened(_one_line(arguments)))
        result = await self._client.call_tool(name, arguments)
        if result.is_error:
            envelope = (result.meta or {}).get(ERROR_KEY) or {}
            self._show(_json(envelope), "yellow")
            return envelope
        structured = result.structured_content
        value: Any = structured
        if isinstance(structured, dict) and set(structured) == {"result"}:
            value = structured["result"]
        text = "\n".join(getattr(part, "text", "") for part in result.content)
        self._show(_json(value) if value is not None else text)
        return value if value is not None else text

    async def read(self, uri: str) -> str:
        self._asked("read", uri)
        result = await self._client.read_resource(uri)
        text = "\n".join(getattr(part, "text", "") for part in result.contents)
        self._show(text)
        return text

    async def prompt(self, name: str, /, **arguments: str) -> str:
        public = self._public(name)
        self._asked(f"prompt {public}", _shortened(_one_line(arguments)))
        result = await self._client.get_prompt(public, arguments)
        text = "\n".join(getattr(message.content, "text", "") for message in result.messages)
        self._show(text)
        return text

    def _asked(self, what: str, how: str) -> None:
        head = f"→ {what}"
        first, *more = self._fitted(f"{head} {how}")
        self._output.styled(f"[green]{head}[/]{_escaped(first.removeprefix(head))}")
        for line in more:
            self._output.text(line)

    def _show(self, text: str, style: str = "") -> None:
        lines = text.splitlines() or [""]
        for line in lines[:SHOWN_LINES]:
            for piece in self._fitted(f"  {_shortened(line)}"):
                self._output.styled(f"[{style}]{_escaped(piece)}[/]" if style else _escaped(piece))
        if len(lines) > SHOWN_LINES:
            self._output.styled(f"  [dim]… {len(lines) - SHOWN_LINES} more lines[/]")

    def _fitted(self, line: str) -> list[str]:
        """A line in the pieces that this terminal shows without breaking a word; at least one."""
        width = max(40, shutil.get_terminal_size().columns)
        if not self._output.is_terminal or len(line) <= width:
            return [line]
        indent = " " * (len(line) - len(line.lstrip(" ")) + 4)
        return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)


async def _agree(context: Any, params: Any) -> Any:
    """The person of the demonstration agrees to everything."""
    import mcp_types

    properties = params.requested_schema.get("properties", {})
    content = {name: True for name, of in properties.items() if of.get("type") == "boolean"}
    return mcp_types.ElicitResult(action="accept", content=content)


def _scratch_environment(folder: Path) -> dict[str, str]:
    """Nothing of the reader's own settings and data is touched."""
    import os

    home = folder / "home"
    home.mkdir(exist_ok=True)
    own = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    return {**os.environ, **own, "HOME": str(home)}


def _one_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _json(value: Any) -> str:
    text = _one_line(value)
    if len(text) <= SHOWN_WIDTH:
        return text
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _shortened(text: str) -> str:
    text = " ".join(text.split("\n"))
    return text if len(text) <= SHOWN_WIDTH else text[: SHOWN_WIDTH - 1] + "…"


def _escaped(text: object) -> str:
    from rich.markup import escape

    return escape(str(text))


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _farewell(output: Output, kept: Path | None) -> None:
    output.styled("\n[bold]That was a host, its packs and a client. Now with your own:[/]")
    output.text(FAREWELL)
    if kept is not None:
        output.text(f"\nThe scratch folder is still there: {kept}")
