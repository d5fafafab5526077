"""The command: which packs, how thoroughly, and how the findings are told."""

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from mcp_host import SettingsError
from mcp_host.testing import ContractFinding, check_pack

from ..texts import plain
from .project import Meant, is_path, settings_of, written_packs


def check(
    pack: Annotated[
        str | None,
        typer.Argument(
            help="The pack's name, a file of Python, or a project's folder; the project in this "
            "folder unless told."
        ),
    ] = None,
    fuzz: Annotated[
        bool, typer.Option("--fuzz", help="Call every tool with many arguments, hostile ones too.")
    ] = False,
    examples: Annotated[
        int, typer.Option(min=1, help="With --fuzz: how many arguments of each kind.")
    ] = 100,
    config: Annotated[
        Path | None,
        typer.Option(help="Take the pack's settings from this file.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a pack: is it fit for every client, and does it hold what the host expects?

    It is served in an empty folder, with its default settings unless --config names others; every
    tool is called, also those that write: what such settings lead to, by absolute paths and
    addresses, should be a copy. Ends with 1 where something must be mended.
    """
    logging.getLogger("mcp_host").addHandler(logging.NullHandler())
    logging.getLogger("mcp_host").propagate = False
    found = {}
    with _pack_prints_elsewhere():
        for one in _meant(pack):
            found[one.name] = check_pack(
                one.name,
                module=one.module,
                file=one.file,
                settings=settings_of(config, one.name),
                folder=None if config is None else config.absolute().parent,
                fuzz=examples if fuzz else 0,
            )
    if as_json:
        packs = [
            {"pack": name, "findings": [one.as_data() for one in findings]}
            for name, findings in found.items()
        ]
        typer.echo(json.dumps({"packs": packs}, indent=2))
    else:
        _tell(found)
    if any(one.severity == "error" for findings in found.values() for one in findings):
        raise typer.Exit(1)


@contextmanager
def _pack_prints_elsewhere() -> Iterator[None]:
    """Send to standard error what the pack prints, and programs that it starts: no findings."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _meant(pack: str | None) -> Sequence[Meant]:
    if pack is None or is_path(pack):
        written = written_packs(Path(pack or "."))
        if not written:
            raise SettingsError(
                f"there is no pack in the pyproject.toml of {Path(pack or '.').absolute()}, which "
                'must name one in [project.entry-points."mcp_host.packs"]; of one that is '
                "installed, give the name: mcp-host check NAME"
            )
        return written
    here = [one for one in written_packs(Path.cwd()) if one.name == pack]
    return here or [Meant(pack)]


def _tell(found: Mapping[str, Sequence[ContractFinding]]) -> None:
    for name, findings in found.items():
        for one in sorted(findings, key=lambda one: (one.severity != "error", one.rule)):
            where = f"{one.where}: " if one.where else ""
            typer.echo(plain(f"{one.severity:6} {one.rule:12} {where}{one.problem}"))
            typer.echo(plain(f"{'':19} -> {one.remedy}"))
        errors = sum(one.severity == "error" for one in findings)
        advice = len(findings) - errors
        verdict = "holds" if not errors else f"has {errors} to mend"
        more = f", {advice} {'piece' if advice == 1 else 'pieces'} of advice" if advice else ""
        typer.echo(plain(f"pack {name} {verdict}{more}"))
