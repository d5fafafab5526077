"""`mcp-host packs`: every pack of the settings and of this environment, and how it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..packs.declared import Offer
from ..packs.discovery import discover
from ..packs.lock import see_and_agree
from ..settings.loading import Settings
from ..startup.trust import FILE_NAME, NO_PACKS, is_safe_mode
from .common import (
    ConfigOption,
    JsonOption,
    Output,
    chosen_settings,
    loaded,
    quiet_logs,
)

CHECKED = "checked"
"""What stands in place of `opening`, since no pack is opened."""


def packs(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the packs: enabled ones are imported and checked, none is opened."""
    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "critical")
    reports = [_checked(report) for report in loaded(settings).report()]
    known = {report["name"] for report in reports}
    for name, offers in discover().items():
        if name not in known:
            reports.append(_not_enabled(offers[0], settings))
    if as_json:
        output.json({"settings": str(settings.source or ""), "packs": reports})
        return
    output.table(
        ("PACK", "STATE", "VERSION", "TOOLS", "WHY"),
        [
            (
                report["name"],
                report["state"],
                report.get("version", ""),
                str(report.get("tools", "")),
                " – ".join(
                    filter(None, (report.get("reason"), report.get("remedy"), _lock(report)))
                ),
            )
            for report in reports
        ],
        'no packs are installed; for example: pip install "mcp-host[tasky]"',
    )
    if any(report["state"] == CHECKED for report in reports):
        output.text("Checked, not opened: `mcp-host doctor` opens every enabled pack.")


def _not_enabled(offer: Offer, settings: Settings) -> dict[str, Any]:
    """An installed pack that the settings do not name, or that safe mode keeps out."""
    about = {"name": offer.name, "state": "disabled"}
    of_offer = {"distribution": offer.distribution, "version": offer.version}
    if is_safe_mode():
        reason = f"{NO_PACKS}=1 keeps every pack out"
        return {**about, "code": "safe_mode", "reason": reason, **of_offer}
    if settings.source is not None:
        missing, remedy = "not in the settings file", f"mcp-host enable {offer.name}"
    elif Path(FILE_NAME).exists():
        missing, remedy = "the settings file here is not read", "mcp-host trust"
    else:
        missing, remedy = "there is no settings file", f"mcp-host init {offer.name}"
    reason = f"installed, but {missing}"
    return {**about, "code": "not_enabled", "reason": reason, "remedy": remedy, **of_offer}


def _lock(report: dict[str, Any]) -> str:
    """What the lock of a pack keeps back, in a line; empty where it keeps nothing."""
    count = len(report.get("withheld", ()))
    if not count:
        return ""
    what = "entry is" if count == 1 else "entries are"
    return f"{count} {what} withheld by its lock – {see_and_agree(report['name'])}"


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    """What passed its checks would now be opened, which this command does not do."""
    if report["state"] == "opening" and report.get("code") != "loading":
        return {**report, "state": CHECKED, "code": "", "reason": ""}
    return report
