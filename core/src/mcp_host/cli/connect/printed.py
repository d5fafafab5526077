"""An entry as text to be pasted, and links that put it into a client at a click."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal
from urllib.parse import quote

import tomli_w

from ...clients.client import Client, Launch, Remote
from ...clients.known import CLIENTS
from ...errors import SettingsError

BADGE_OF_VS_CODE = "https://img.shields.io/badge/VS_Code-install-0098FF"
BADGE_OF_CURSOR = "https://cursor.com/deeplink/mcp-install-dark.svg"
USUAL = {"json": "cursor", "toml": "codex", "yaml": "goose"}
"""Whose entry is printed where no client is named."""


def printed(
    form: Literal["json", "toml", "yaml", "link"],
    client: Client | None,
    start: Launch | Remote,
    name: str,
) -> str:
    """The entry in this form; `SettingsError` for a form that the client does not read."""
    if form == "link":
        return _links(client, start, name)
    client = client or CLIENTS[USUAL[form]]
    if client.syntax != form:
        raise SettingsError(f"{client.title} reads {client.syntax}: --print {client.syntax}")
    entry = client.entry(start, None, name)
    data: dict[str, Any] = {client.servers: [entry] if client.listed else {name: entry}}
    if asked := client.asked(start):
        data = {"inputs": asked, **data}
    if form == "toml":
        return tomli_w.dumps(data).rstrip()
    if form == "yaml":
        return "\n".join(_yaml(data))
    return json.dumps(data, indent=2, ensure_ascii=False)


def _links(client: Client | None, start: Launch | Remote, name: str) -> str:
    """For each client that takes links: the link, and a badge in Markdown for a README."""
    makers = {"vscode": _of_vs_code, "cursor": _of_cursor, "lm-studio": _of_lm_studio}
    if client is not None and client.name not in makers:
        raise SettingsError(f"{client.title} takes no links; these do: {', '.join(makers)}")
    chosen = [client.name] if client is not None else ["vscode", "cursor"]
    return "\n\n".join(
        "\n".join([CLIENTS[each].title, *makers[each](start, name)]) for each in chosen
    )


def _of_vs_code(start: Launch | Remote, name: str) -> list[str]:
    client = CLIENTS["vscode"]
    entry = client.entry(start, None, name)
    asked = client.asked(start)
    whole = {"name": name, **entry, **({"inputs": asked} if asked else {})}
    link = f"vscode:mcp/install?{_in_url(_compact(whole))}"
    inputs = f"&inputs={_in_url(_compact(asked))}" if asked else ""
    web = (
        f"https://insiders.vscode.dev/redirect/mcp/install?name={_in_url(name)}"
        f"&config={_in_url(_compact(entry))}{inputs}"
    )
    return [link, f"[![Install in VS Code]({BADGE_OF_VS_CODE})]({web})"]


def _of_cursor(start: Launch | Remote, name: str) -> list[str]:
    config = _in_base64(CLIENTS["cursor"].entry(start, None, name))
    query = f"name={_in_url(name)}&config={_in_url(config)}"
    return [
        f"cursor://anysphere.cursor-deeplink/mcp/install?{query}",
        f"[![Add to Cursor]({BADGE_OF_CURSOR})](https://cursor.com/en/install-mcp?{query})",
    ]


def _of_lm_studio(start: Launch | Remote, name: str) -> list[str]:
    config = _in_base64(CLIENTS["lm-studio"].entry(start, None, name))
    return [f"lmstudio://add_mcp?name={_in_url(name)}&config={_in_url(config)}"]


def _yaml(data: Any, margin: str = "") -> list[str]:
    """Lines of YAML; texts are written as JSON has them, which YAML reads alike."""
    if isinstance(data, dict) and data:
        return [
            line
            for key, value in data.items()
            for line in (
                [f"{margin}{key}:", *_yaml(value, f"{margin}  ")]
                if isinstance(value, dict | list) and value
                else [f"{margin}{key}: {json.dumps(value, ensure_ascii=False)}"]
            )
        ]
    if isinstance(data, list) and data:
        lines: list[str] = []
        for item in data:
            first, *rest = _yaml(item, f"{margin}  ")
            lines += [f"{margin}- {first.strip()}", *rest]
        return lines
    return [f"{margin}{json.dumps(data, ensure_ascii=False)}"]


def _in_base64(data: Any) -> str:
    return base64.b64encode(_compact(data).encode()).decode()


def _in_url(text: str) -> str:
    return quote(text, safe="")


def _compact(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)
