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
    loaded,
    quiet_logs,
    saved_catalogue,
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
    output = Output()
    items = _saved_items(config, lists)
    if items is None:
        items = _loaded_items(config, lists)
    if as_json:
        output.json(items)
    else:
        output.table(columns, map(row, items), f"no {lists[0]}; `mcp-host packs` says why")


def _saved_items(config: Any, lists: tuple[Any, ...]) -> list[Any] | None:
    """The lists of the saved catalogue; None where it is not good, or holds not all of them."""
    catalogue = saved_catalogue(config)
    if catalogue.shown is None or catalogue.refusal:
        return None
    pages = [catalogue.shown.pages[what] for what in lists]
    if any("nextCursor" in page for page in pages):
        return None
    return [item for what, page in zip(lists, pages, strict=True) for item in page[what]]


def _loaded_items(config: Any, lists: tuple[Any, ...]) -> list[Any]:
    from ..context import Caller

    settings = chosen_settings(config)
    quiet_logs(settings, "warning")
    inventory = loaded(settings)
    return [item for what in lists for item in inventory.visible(what, Caller())]


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
