"""The command: what is asked, where it is written, and what to do with it."""

import asyncio
import re
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from ..texts import plain
from .chosen import HOST, Chosen, offers, requirements, seen, skills
from .errors import BundleError
from .formats import FORMATS, Published
from .payload import Files

NAME = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
SERVER_NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")
LONGEST_NAME = 64
NEXT = {
    "mcpb": "Open {file} with Claude Desktop, or attach it to a release.",
    "plugin": "Give the folder {out} to a client that reads Agent Plugins.",
    "claude": "Try it with: claude --plugin-dir {out}",
    "gemini": "Install it with: gemini extensions install {out}",
    "server-json": "Publish it with the registry's mcp-publisher, in {out}.",
    "container": "Build it with: docker build -f {out}/Containerfile {out}",
}


class Format(StrEnum):
    """What can be made."""

    MCPB = "mcpb"
    PLUGIN = "plugin"
    CLAUDE = "claude"
    GEMINI = "gemini"
    SERVER_JSON = "server-json"
    CONTAINER = "container"


def bundle(
    packs: Annotated[list[str] | None, typer.Argument(help="The packs to bundle.")] = None,
    forms: Annotated[
        list[Format] | None,
        typer.Option(
            "--format", help="What to make; said several times, each gets a folder of --out."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="The folder to write to; it must be new or empty.")
    ] = Path("bundle"),
    name: Annotated[
        str | None, typer.Option(help="The bundle's name; mcp-host-PACKS unless told.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What it is for, in a sentence.")] = None,
    author: Annotated[str, typer.Option(help="Who publishes it.")] = "The mcp-host authors",
    version: Annotated[
        str | None, typer.Option(help="The bundle's version; that of the host unless told.")
    ] = None,
    wheels: Annotated[
        Path | None,
        typer.Option(help="Carry wheels of this folder, instead of asking a package index."),
    ] = None,
    server_name: Annotated[
        str | None, typer.Option(help="The name in the MCP registry: io.github.YOU/NAME.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="The published image that server.json names as well.")
    ] = None,
) -> None:
    """Make a bundle of packs with the host, which clients and registries install.

    The packs are started once, as a client would start them, and what they list is told in the
    bundle. It holds the versions that are installed here, and no setting of this machine.
    """
    if not forms:
        raise typer.BadParameter(f"say what to make: --format {'|'.join(FORMATS)}")
    _check_free(out)
    if server_name is not None and not SERVER_NAME.fullmatch(server_name):
        raise BundleError(f"--server-name must be like io.github.you/name, not {server_name}")
    chosen = _chosen(packs or [], name, description, author, version, wheels)
    published = Published(server_name, image)
    made = {form: FORMATS[form](chosen, published) for form in dict.fromkeys(forms)}
    for form, files in made.items():
        folder = out if len(made) == 1 else out / form
        _write(folder, files)
        _tell(form, folder, chosen, files)


def _chosen(
    packs: list[str],
    name: str | None,
    description: str | None,
    author: str,
    version: str | None,
    wheels: Path | None,
) -> Chosen:
    points = offers(packs)
    name = name or "-".join((HOST, *(pack.replace("_", "-") for pack in points)))
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise BundleError(
            f"the name must be of a-z, 0-9 and single - or ., up to {LONGEST_NAME}, not {name}: "
            "say --name"
        )
    needs = requirements(points.values(), wheels)
    found = asyncio.run(seen(list(points)))
    summaries = [
        (point.dist.metadata["Summary"] if point.dist else None) or point.name
        for point in points.values()
    ]
    return Chosen(
        name=name,
        version=version or metadata.version(HOST),
        description=description or "; ".join(summaries),
        author=author,
        packs=tuple(points),
        requirements=needs,
        tools=tuple(tool for tool in found["tools"]),
        prompts=tuple(found["prompts"]),
        skills=skills(points, found["packs"]),
    )


def _check_free(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BundleError(f"{out} must be new or empty: name another folder with --out")


def _write(out: Path, files: Files) -> None:
    for name, data in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _tell(form: str, out: Path, chosen: Chosen, files: Files) -> None:
    counts = (
        f"{len(chosen.tools)} tools, {len(chosen.prompts)} prompts, {len(chosen.skills)} skills"
    )
    typer.echo(plain(f"Wrote {out}: {', '.join(chosen.packs)} with {counts}."))
    asked = [need.pin for need in chosen.requirements if need.wheel is None]
    if asked:
        typer.echo(plain(f"  Installed, it asks a package index for {', '.join(asked)}."))
    file = out / next(iter(files))
    typer.echo(plain("  " + NEXT[form].format(out=out, file=file)))
