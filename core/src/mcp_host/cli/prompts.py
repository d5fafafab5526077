"""`mcp-host prompts`: the prompts that clients will see."""

from __future__ import annotations

from typing import Any

from .common import JsonOption, SourceOption, first_line
from .listing import PathArgument, at_path, show_lists


def prompts(
    path: PathArgument = None, config: SourceOption = None, as_json: JsonOption = False
) -> None:
    """List the prompts."""
    columns = ("PROMPT", "ARGUMENTS", "WHAT IT IS")
    show_lists(at_path(path, config), as_json, columns, _prompt_row, "prompts")


def _prompt_row(prompt: Any) -> tuple[str, ...]:
    arguments = (
        [a["name"] if a["required"] else f"[{a['name']}]" for a in prompt["arguments"]]
        if ("arguments" in prompt)
        else []
    )
    return prompt["name"], " ".join(arguments), first_line(prompt.get("description", ""))
