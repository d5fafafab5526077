"""`mcp-host packs`: every pack of the settings and of this environment, and how it is."""

from __future__ import annotations

from typing import Any

from .common import ConfigOption, JsonOption, Output, chosen_settings, loaded_host, quiet_logs


def packs(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the packs: enabled ones are imported and checked, none is opened."""
    from ..packs import discover

    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "critical")
    reports = [_checked(report) for report in loaded_host(settings).report()]
    known = {report["name"] for report in reports}
    for name, offers in discover().items():
        if name not in known:
            reports.append(
                {
                    "name": name,
                    "state": "disabled",
                    "code": "not_enabled",
                    "reason": "installed, but not in the settings file",
                    "remedy": f"mcp-host enable {name}",
                    "distribution": offers[0].distribution,
                    "version": offers[0].version,
                }
            )
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
                " – ".join(filter(None, (report.get("reason"), report.get("remedy")))),
            )
            for report in reports
        ],
        'no packs are installed; for example: pip install "mcp-host[tasky]"',
    )


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    """A pack that passed its checks is ready as far as this command looks."""
    if report["state"] == "opening" and report.get("code") != "loading":
        return {**report, "state": "ready", "code": "", "reason": ""}
    return report
