"""`mcp-host resources`: the resources that clients will see."""

from __future__ import annotations

from typing import Any

from .common import JsonOption, SourceOption, first_line
from .listing import PathArgument, at_path, show_lists


def resources(
    path: PathArgument = None, config: SourceOption = None, as_json: JsonOption = False
) -> None:
    """List the resources and the templates of resources."""
    columns = ("URI", "TYPE", "WHAT IT IS")
    show_lists(
        at_path(path, config), as_json, columns, _resource_row, "resources", "resourceTemplates"
    )


def _resource_row(resource: Any) -> tuple[str, ...]:
    uri = resource.get("uri") or resource["uriTemplate"]
    return uri, resource.get("mimeType", ""), first_line(resource.get("description", ""))
