"""`mcp-host config`: what the settings are, whether they are right, and what may stand in them."""

from __future__ import annotations

import json
import tomllib
from typing import Annotated, Any

import tomli_w
import typer

from ..packs.discovery import discover
from ..settings.loading import Settings, loads
from ..settings.tables import PACK_NAME, RESERVED_PACK_NAME, FileTables, PackTable
from .commands import Command
from .common import (
    ConfigOption,
    JsonOption,
    Output,
    chosen_bytes,
    chosen_settings,
    loaded,
    quiet_logs,
    say,
)

config_app = typer.Typer(help="Show, check and explain the settings.", no_args_is_help=True)


@config_app.command("show", cls=Command)
def show(
    resolved: Annotated[
        bool, typer.Option("--resolved", help="With defaults filled in; secrets are masked.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the settings file, or the settings it results in."""
    path, read = chosen_bytes(config)
    settings = loads(read, path)
    if resolved:
        data = settings.shown()
        text = f"# from {path}\n{tomli_w.dumps(_without_none(data))}"
    else:
        text = read.decode()
        data = tomllib.loads(text)
    print(json.dumps(data, indent=2, default=str) if as_json else text.rstrip())


@config_app.command("check", cls=Command)
def check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the settings file and every enabled pack's own settings."""
    output = Output()
    path, read = chosen_bytes(config)
    settings = loads(read, path)
    quiet_logs(settings, "critical")
    problems = [
        f"{report['name']}: {report['reason']}"
        for report in loaded(settings).report()
        if report["state"] == "failed"
    ]
    if as_json:
        output.json(
            {
                "file": str(path),
                "valid": not problems,
                "problems": problems,
                "warnings": settings.warnings,
            }
        )
    elif problems:
        output.text("\n".join(problems))
    else:
        output.text(f"{path} is right.")
    if not as_json:
        for warning in settings.warnings:
            say(f"warning: {warning}")
    if problems:
        raise typer.Exit(1)


@config_app.command("schema", cls=Command)
def schema(
    all_packs: Annotated[
        bool, typer.Option("--all", help="With the settings of every installed pack.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Print the JSON Schema of mcp-host.toml, with the settings of the enabled packs."""
    output = Output()
    settings = Settings() if all_packs else chosen_settings(config)
    if all_packs:
        settings = settings.replace(packs={name: PackTable(enabled=True) for name in discover()})
    quiet_logs(settings, "critical")
    models = {
        name: pack.declared.settings_model
        for name, pack in loaded(settings).packs.items()
        if pack.declared is not None and pack.declared.settings_model is not None
    }
    output.json(file_schema(models))


def file_schema(models: dict[str, Any]) -> dict[str, Any]:
    """The schema of the file; `models` are the settings models of packs, by name.

    Wherever a scalar stands, `{ env = … }` or `{ file = … }` may stand as well.
    """
    whole = FileTables.model_json_schema()
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    whole["title"] = "mcp-host.toml"
    definitions = whole["$defs"]
    known = {}
    for name, model in models.items():
        own = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        for inner, definition in own.pop("$defs", {}).items():
            definitions[f"{name}.{inner}"] = definition
        definitions[f"{name}.settings"] = own
        settings = {"properties": {"settings": {"$ref": f"#/$defs/{name}.settings"}}}
        known[name] = {"allOf": [{"$ref": "#/$defs/PackTable"}, settings]}
    packs = whole["properties"]["packs"]
    packs["properties"] = known
    packs["propertyNames"] = {"pattern": PACK_NAME, "not": {"const": RESERVED_PACK_NAME}}
    for name, definition in definitions.items():
        definitions[name] = _with_secrets(definition)
    for table, key in (("TokenTable", "token"), ("HostTable", "state_key")):
        # Never the value itself.
        definitions[table]["properties"][key]["anyOf"] = [{"$ref": "#/$defs/Secret"}]
    definitions["Secret"] = _SECRET
    return whole


_SCALARS = ("string", "integer", "number", "boolean")
_SECRET = {
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "env": {"type": "string", "minLength": 1},
                "default": {"type": list(_SCALARS)},
            },
            "required": ["env"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"file": {"type": "string"}},
            "required": ["file"],
            "additionalProperties": False,
        },
    ]
}


def _with_secrets(schema: Any) -> Any:
    """The schema where a secret may stand in place of every scalar."""
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: {name: _with_secrets(sub) for name, sub in value.items()}
        if key in ("properties", "patternProperties")
        else _with_secrets(value)
        if key in ("items", "additionalProperties")
        else value
        for key, value in schema.items()
    }
    arms = inner.get("anyOf", [inner])
    if not any(arm.get("type") in _SCALARS or "enum" in arm or "const" in arm for arm in arms):
        return inner
    words = {key: inner[key] for key in ("title", "description", "default") if key in inner}
    rest = {key: value for key, value in inner.items() if key not in words}
    return {**words, "anyOf": [*rest.get("anyOf", [rest]), {"$ref": "#/$defs/Secret"}]}


def _without_none(value: Any) -> Any:
    """TOML has no null: what is unset is left out."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value
