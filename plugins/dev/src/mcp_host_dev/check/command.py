"""The command: which packs, how thoroughly, and how the findings are told."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from mcp_host import SettingsError
from mcp_host.testing import ContractFinding, check_pack

from ..texts import plain
from .project import project_packs, settings_of


def check(
    pack: Annotated[
        str | None,
        typer.Argument(help="The pack's name; those of the project in this folder unless told."),
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
    with redirect_stdout(sys.stderr):  # what the pack prints is none of the findings
        for name, module in _meant(pack).items():
            settings = settings_of(config, name)
            found[name] = check_pack(
                name, module=module, settings=settings, fuzz=examples if fuzz else 0
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


def _meant(pack: str | None) -> Mapping[str, str | None]:
    here = project_packs(Path.cwd())
    if pack is not None:
        return {pack: here.get(pack)}
    if not here:
        raise SettingsError(
            "there is no pack in this folder's pyproject.toml; name one: mcp-host check NAME"
        )
    return dict(here)


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
