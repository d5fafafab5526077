"""`mcp-host tools`, `resources` and `prompts`: what clients will see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .common import (
    ConfigOption,
    JsonOption,
    Output,
    chosen_settings,
    first_line,
    loaded_host,
    quiet_logs,
)


def tools(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the tools under the names that clients see."""
    _show(config, as_json, ("TOOL", "", "WHAT IT DOES"), _tool_row, "tools")


def resources(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the resources and the templates of resources."""
    columns = ("URI", "TYPE", "WHAT IT IS")
    _show(config, as_json, columns, _resource_row, "resources", "resourceTemplates")


def prompts(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the prompts."""
    _show(config, as_json, ("PROMPT", "ARGUMENTS", "WHAT IT IS"), _prompt_row, "prompts")


def _show(
    config: Any,
    as_json: bool,
    columns: tuple[str, ...],
    row: Callable[[Any], tuple[str, ...]],
    *lists: Any,
) -> None:
    from ..context import Caller

    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "warning")
    host = loaded_host(settings)
    items = [item for what in lists for item in host.visible(what, Caller())]
    if as_json:
        output.json(items)
    else:
        output.table(columns, map(row, items), f"no {lists[0]}; `mcp-host packs` says why")


def _tool_row(tool: Any) -> tuple[str, ...]:
    reads = "reads" if tool.get("annotations", {}).get("readOnlyHint") else "writes"
    return tool["name"], reads, first_line(tool.get("description", ""))


def _resource_row(resource: Any) -> tuple[str, ...]:
    uri = resource.get("uri") or resource["uriTemplate"]
    return uri, resource.get("mimeType", ""), first_line(resource.get("description", ""))


def _prompt_row(prompt: Any) -> tuple[str, ...]:
    arguments = (
        [a["name"] if a["required"] else f"[{a['name']}]" for a in prompt["arguments"]]
        if ("arguments" in prompt)
        else []
    )
    return prompt["name"], " ".join(arguments), first_line(prompt.get("description", ""))
