"""`mcp-host doctor`: opens every pack, and says what is wrong and what to do."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import typer

from ..errors import Unavailable
from ..host import Host
from ..packs.conditions import NOT_SET_UP
from ..packs.costs import over_budget
from ..packs.lock import see_and_agree, withheld_line
from ..packs.pack import Pack
from ..settings.loading import Settings
from ..startup.version import VERSION
from .common import (
    STATE_STYLES,
    ConfigOption,
    JsonOption,
    Output,
    chosen_settings,
    escaped,
    loaded,
    quiet_logs,
    saved_catalogue,
)
from .learning import each_in_a_process
from .reload import running_lines
from .warm import warm_line


def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Look whether all is well: settings, packs, and what each pack needs.

    Ends with 0 when every enabled pack is ready, or merely not set up yet.
    """
    output = Output()
    settings = each_in_a_process(chosen_settings(config))
    quiet_logs(settings, "critical")
    catalogue = _catalogue(config, settings)
    host = Host(loaded(settings), retries=False)
    warnings = [*host.inventory.warnings, *filter(None, [over_budget(host.inventory)])]
    findings = asyncio.run(_examine(host))
    reports = [
        {
            **report,
            "findings": findings.get(report["name"], []),
            "tools_by_settings": _by_settings(settings, report["name"]),
        }
        for report in host.report()
    ]
    healthy = all(_is_well(report) for report in reports)
    if as_json:
        output.json(
            {
                "healthy": healthy,
                "version": VERSION,
                "python": platform.python_version(),
                "settings": str(settings.source or ""),
                "catalogue": catalogue,
                "warm": warm_line(settings),
                "running": running_lines(settings.source, settings.digest),
                "warnings": warnings,
                "packs": reports,
            }
        )
    else:
        _show(output, host, reports, catalogue, warnings)
    raise typer.Exit(0 if healthy else 1)


async def _examine(host: Host) -> dict[str, list[dict[str, Any]]]:
    async with host:
        await host.settled()
        return {
            name: await _checks(pack, host)
            for name, pack in host.packs.items()
            if pack.declared is not None and pack.declared.checks
        }


async def _checks(pack: Pack, host: Host) -> list[dict[str, Any]]:
    """What the pack's own checks find, secrets masked; nothing where it is not open."""
    redact = host.settings.secrets.redact
    try:
        findings = await host.running[pack.name].worker.check()
    except Unavailable:  # its state says why
        return []
    return [
        {"problem": redact(found.problem), "remedy": redact(found.remedy), "note": found.is_note}
        for found in findings
    ]


def _by_settings(settings: Settings, pack: str) -> dict[str, dict[str, Any]]:
    """What the settings make of a pack's tools, by each tool's own name, secrets masked."""
    table = settings.packs.get(pack)
    tools = {} if table is None else table.tools
    told = {name: tool.model_dump(mode="json", exclude_unset=True) for name, tool in tools.items()}
    masked: dict[str, dict[str, Any]] = settings.secrets.redact_data(told)
    return masked


def _in_keys(said: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """What the settings say of a tool, as the keys of the file have it."""
    for key, value in said.items():
        if isinstance(value, Mapping) and key != "value":
            yield from _in_keys(value, f"{within}{key}.")
        else:
            yield f"{within}{key} = {json.dumps(value, ensure_ascii=False)}"


def _is_well(report: dict[str, Any]) -> bool:
    if report.get("withheld"):
        return False
    if report["state"] in ("ready", "disabled"):
        return all(finding["note"] for finding in report["findings"])
    return report["state"] == "degraded" and report.get("code") == NOT_SET_UP


def _told(last: Mapping[str, str]) -> str:
    """Say how the pack ended the host's process, and what came of it."""
    request = f" (request {last['request_id']})" if "request_id" in last else ""
    return (
        f"the last end: {last['how']}{request}; it has a process of its own until its files or "
        "the settings change"
    )


def _catalogue(config: ConfigOption, settings: Settings) -> str:
    """How the saved catalogue of `serve`, started in this folder, is."""
    if not settings.host.catalogue:
        return "switched off in the settings"
    found = saved_catalogue(config)
    if found.catalogue is None:
        return found.refusal
    moment = datetime.fromtimestamp(found.time).astimezone().isoformat(" ", "seconds")
    return f"not used, {found.refusal}" if found.refusal else f"good, saved at {moment}"


def _show(
    output: Output,
    host: Host,
    reports: list[dict[str, Any]],
    catalogue: str,
    warnings: list[str],
) -> None:
    output.text(f"mcp-host {VERSION}, Python {platform.python_version()} ({sys.executable})")
    output.text(f"settings: {host.settings.source or 'none'}")
    output.text(f"saved catalogue for a start in this folder: {catalogue}")
    output.text(f"warm host: {warm_line(host.settings)}")
    for line in running_lines(host.settings.source, host.settings.digest):
        output.text(f"running: {line}")
    for warning in warnings:
        output.text(f"warning: {warning}")
    for report in reports:
        state = report["state"]
        style = STATE_STYLES.get(state, "")
        version = f" {report['version']}" if report.get("version") else ""
        output.styled(f"\n[{style}]●[/] [bold]{report['name']}[/]{version}: [{style}]{state}[/]")
        for text in (report.get("reason"), report.get("remedy")):
            if text:
                output.styled(f"  {escaped(text)}")
        if last := report.get("last_end"):
            output.styled(f"  {escaped(_told(last))}")
        for tool, said in report["tools_by_settings"].items():
            words = ", ".join(_in_keys(said))
            output.styled(f"  {escaped(f'{tool}, by the settings: {words}')}")
        for one in report.get("withheld", ()):
            output.styled(f"  {escaped(withheld_line(one))}")
        if report.get("withheld"):
            output.styled(f"    {escaped(see_and_agree(report['name']))}")
        for finding in report["findings"]:
            output.styled(f"  {escaped(finding['problem'])}")
            if finding["remedy"]:
                output.styled(f"    {escaped(finding['remedy'])}")
    if not reports:
        output.text("\nno packs are enabled; `mcp-host packs` shows what is installed")
