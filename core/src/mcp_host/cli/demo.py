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
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import tomli_w
import typer
from rich.markup import escape

from ..clients.known import CLIENTS
from ..declarations.demo import GROUP, DemoModule
from ..errors import ERROR_KEY, SettingsError
from ..packs.declared import Declared, Offer
from ..packs.naming import Naming
from ..packs.own_pack import PACKS_URI
from ..settings.tables import PackTable
from ..startup.protocol import MODERN_VERSION
from ..testing import Person, StdioClient, stdio_client
from ..testing.hosting import returned
from .common import Output
from .completion import installed_packs

SHOWN_LINES = 14
SHOWN_WIDTH = 110
FAREWELL = "\n".join(
    (
        "  mcp-host init      writes ./mcp-host.toml, asks which packs to enable",
        "  mcp-host doctor    looks whether all is well",
        f"  mcp-host connect   connects the clients on this machine; {len(CLIENTS)} are known",
    )
)


def demo(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Packs to show; all that are installed.", autocompletion=installed_packs
        ),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the scratch folder where it is.")
    ] = False,
) -> None:
    """Start the host on a scratch folder and watch every installed pack at work."""
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


def _demonstrations(names: list[str]) -> dict[str, DemoModule]:
    found = {point.name: point for point in metadata.entry_points(group=GROUP)}
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


def _prepare(folder: Path, demonstrations: Mapping[str, DemoModule]) -> Path:
    """A scratch project for each pack, and a settings file that enables them all."""
    packs: dict[str, Any] = {}
    for name, demonstration in demonstrations.items():
        own = folder / name
        own.mkdir()
        packs[name] = {"enabled": True, "settings": dict(demonstration.prepare(own))}
    config = folder / "mcp-host.toml"
    config.write_text(tomli_w.dumps({"packs": packs}), "utf-8")
    return config


async def _play(
    output: Output, folder: Path, config: Path, demonstrations: Mapping[str, DemoModule]
) -> bool:
    command = [sys.executable, "-P", "-m", "mcp_host", "serve", "--config", str(config)]
    output.styled(f"[dim]$ {escape(shlex.join(['mcp-host', *command[3:]]))}[/]")
    serving = stdio_client(
        [*command, "--log-level", "error", "--no-catalogue"],
        protocol=MODERN_VERSION,
        person=Person(),
        cwd=folder,
        environment=_scratch_environment(folder),
    )
    well = True
    async with serving as client:
        tools = await client.tools()
        await client.read(PACKS_URI)  # once it is read, the server has said that it serves
        output.text(f"A client has connected; it sees {len(tools)} tools.")
        for name, demonstration in demonstrations.items():
            stage = _Stage(output, client, name, folder / name)
            output.styled(f"\n[bold cyan]── {name} {'─' * (70 - len(name))}[/]")
            try:
                await demonstration.play(stage)
            except Exception as error:
                output.styled(
                    f"[red]the demonstration of {name} broke off: {escape(str(error))}[/]"
                )
                well = False
    return well


class _Stage:
    """What `declarations.demo.Stage` promises, over a client of the host's own process."""

    def __init__(self, output: Output, client: StdioClient, pack: str, folder: Path) -> None:
        self.folder = folder
        self._output = output
        self._client = client
        table = PackTable(enabled=True)
        self._public = Naming(Declared(pack, Offer(pack, "", "", ""), table)).public

    def say(self, text: str) -> None:
        self._output.styled(f"\n[bold]{escape(text)}[/]")

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        name = self._public(tool)
        self._asked(name, _shortened(_one_line(arguments)))
        result = await self._client.call(name, **arguments)
        if result.get("isError"):
            envelope = result["_meta"][ERROR_KEY]
            self._show(_json(envelope), "yellow")
            return envelope
        value = returned(result)
        self._show(value if isinstance(value, str) else _json(value))
        return value

    async def read(self, uri: str) -> str:
        self._asked("read", uri)
        contents = await self._client.read(uri)
        text = "\n".join(content.get("text", "") for content in contents)
        self._show(text)
        return text

    async def prompt(self, name: str, /, **arguments: str) -> str:
        public = self._public(name)
        self._asked(f"prompt {public}", _shortened(_one_line(arguments)))
        given = {"name": public, "arguments": arguments}
        messages = (await self._client.request("prompts/get", given))["messages"]
        text = "\n".join(message["content"].get("text", "") for message in messages)
        self._show(text)
        return text

    def _asked(self, what: str, how: str) -> None:
        head = f"→ {what}"
        first, *more = self._fitted(f"{head} {how}")
        self._output.styled(f"[green]{head}[/]{escape(first.removeprefix(head))}")
        for line in more:
            self._output.text(line)

    def _show(self, text: str, style: str = "") -> None:
        lines = text.splitlines() or [""]
        for line in lines[:SHOWN_LINES]:
            for piece in self._fitted(f"  {_shortened(line)}"):
                self._output.styled(f"[{style}]{escape(piece)}[/]" if style else escape(piece))
        if len(lines) > SHOWN_LINES:
            self._output.styled(f"  [dim]… {len(lines) - SHOWN_LINES} more lines[/]")

    def _fitted(self, line: str) -> list[str]:
        """A line in the pieces that this terminal shows without breaking a word; at least one."""
        width = max(40, shutil.get_terminal_size().columns)
        if not self._output.is_terminal or len(line) <= width:
            return [line]
        indent = " " * (len(line) - len(line.lstrip(" ")) + 4)
        return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)


def _scratch_environment(folder: Path) -> dict[str, str]:
    """Nothing of the reader's own settings and data is touched."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    own = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    return {**own, "HOME": str(home)}


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


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _farewell(output: Output, kept: Path | None) -> None:
    output.styled("\n[bold]That was a host, its packs and a client. Now with your own:[/]")
    output.text(FAREWELL)
    if kept is not None:
        output.text(f"\nThe scratch folder is still there: {kept}")
