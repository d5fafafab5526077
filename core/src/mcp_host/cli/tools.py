"""`mcp-host tools`: the tools that clients will see, and the arguments of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..declarations.json_schema import pointed
from ..errors import SettingsError, nearest
from .arguments import is_path
from .common import (
    JsonOption,
    Output,
    SourceOption,
    chosen_settings,
    first_line,
    is_written,
    loaded,
    quiet_logs,
)
from .completion import tools_and_packs
from .listing import items_of, show_lists

DEEPEST = 8
"""References, unions and lists in one another that a type is told of."""
COLUMNS = ("TOOL", "", "WHAT IT DOES")


def tools(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A pack, for its tools alone; a tool, for its arguments; or a file of Python or a "
            "project's folder, for what is written there.",
            show_default=False,
            autocompletion=tools_and_packs,
        ),
    ] = None,
    behind: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The pack or the tool behind a path.")
    ] = None,
    config: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tools under the names that clients see."""
    if name is not None and is_path(name):
        if config is not None:
            raise typer.BadParameter(f"{name} and --config must not both be given")
        config, name = Path(name), behind
    elif behind is not None:
        raise typer.BadParameter(f"one name must be given, not also {behind}")
    if name is None:
        show_lists(config, as_json, COLUMNS, _row, "tools")
        return
    output = Output()
    tool = next((item for item in items_of(config, "tools") if item["name"] == name), None)
    found = [] if tool else _of_pack(config, name)
    if is_written(config) and len(found) == 1 and found[0]["name"].endswith(f"_{name}"):
        (tool,) = found
    if tool is None:
        if as_json:
            output.json(found)
        else:
            output.table(
                COLUMNS, map(_row, found), f"{name} has no tools; `mcp-host packs` says why"
            )
    elif as_json:
        output.json(tool)
    else:
        _show(output, tool)


def _of_pack(config: Path | None, name: str) -> list[Mapping[str, Any]]:
    """The tools of one pack, or those that their packs call so; `SettingsError` for neither."""
    settings = chosen_settings(config)
    quiet_logs(settings, "warning")
    inventory = loaded(settings)
    entries = inventory.catalog.entries("tools")
    own = [entry.listed for entry in entries if entry.contribution.name == name]
    if name not in inventory.packs and own:
        return own
    if name not in inventory.packs:
        known = ", ".join(settings.packs) or "none"
        names = [*inventory.packs, *(entry.name for entry in entries)]
        near = nearest(name, names)
        hint = f"; did you mean '{near}'?" if near else ""
        raise SettingsError(f"there is no tool and no pack '{name}'; packs are: {known}{hint}")
    return [entry.listed for entry in entries if entry.pack == name]


def _show(output: Output, tool: Mapping[str, Any]) -> None:
    """One tool as a person wants to know it before calling it."""
    output.text(f"{tool['name']} ({_row(tool)[1]})")
    if tool.get("description"):
        output.text(f"\n{tool['description'].strip()}\n")
    schema = tool["inputSchema"]
    required = schema.get("required", ())
    output.table(
        ("ARGUMENT", "TYPE", "", "WHAT IT IS"),
        [
            (key, _type(of, schema), _needed(key, of, required), of.get("description", ""))
            for key, of in schema.get("properties", {}).items()
        ],
        "It takes no arguments.",
    )


def _needed(key: str, of: Mapping[str, Any], required: Any) -> str:
    if key in required:
        return "required"
    return f"else {of['default']}" if "default" in of else "optional"


def _type(of: Mapping[str, Any], whole: Mapping[str, Any], depth: int = 0) -> str:
    """The type of an argument in a few words."""
    if depth > DEEPEST:
        return "…"
    if "$ref" in of:
        return _type(pointed(dict(whole), of["$ref"]) or {}, whole, depth + 1)
    if "enum" in of:
        return " | ".join(map(str, of["enum"]))
    arms = of.get("anyOf") or of.get("oneOf")
    if arms:
        return " | ".join(dict.fromkeys(_type(arm, whole, depth + 1) for arm in arms))
    if of.get("type") == "array":
        items = of.get("items")
        return f"list of {_type(items if isinstance(items, dict) else {}, whole, depth + 1)}"
    return str(of.get("const", of.get("type", "any")))


def _row(tool: Mapping[str, Any]) -> tuple[str, ...]:
    reads = "reads" if tool.get("annotations", {}).get("readOnlyHint") else "writes"
    return tool["name"], reads, first_line(tool.get("description", ""))
