"""What the settings make of one tool: another name, other words, arguments set or taken away."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ..declarations.json_schema import Schema
from ..declarations.tool import Tool
from ..errors import InvalidInput, nearest
from ..settings.tables import ArgumentTable, ToolTable
from .declared import LoadError


class Transform:
    """Changes a tool's entry as it is listed, and the arguments of its calls accordingly.

    Raises `LoadError` where the settings do not fit the tool; `where` is the tool's table.
    """

    def __init__(self, tool: Tool, table: ToolTable, where: str) -> None:
        self._table = table
        self._where = where
        if table.cache is not None and not tool.read_only:
            raise self._misfit("cache", "only answers of tools that are marked read-only are kept")
        schema = tool.signature.arguments.schema
        for name, argument in table.arguments.items():
            self._check(name, argument, schema)
        self._hidden = frozenset(n for n, a in table.arguments.items() if a.hidden)
        self._values = {n: a.value for n, a in table.arguments.items() if a.value is not None}
        self._shown = [name for name in schema.get("properties", {}) if name not in self._hidden]

    @property
    def hides(self) -> bool:
        """Whether the tool is taken away."""
        return self._table.hidden

    @property
    def cached(self) -> float:
        """Seconds that an answer is kept; 0 where none is."""
        return self._table.cache or 0.0

    def listed(self, listed: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the tool's entry as the settings have it."""
        made = {**listed}
        if self._table.description is not None:
            made["description"] = self._table.description
        if self._table.arguments:
            made["inputSchema"] = self._schema(listed["inputSchema"])
        return made

    def arguments(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments that the tool gets; `InvalidInput` where a hidden one is given."""
        for name in given:
            if name in self._hidden:
                near = nearest(name, self._shown)
                hint = [f"Did you mean '{near}'?"] if near else []
                raise InvalidInput(f"Unknown argument '{name}'", suggestions=hint)
        return {**deepcopy(self._values), **given}

    def _schema(self, schema: Mapping[str, Any]) -> Schema:
        properties = {}
        for name, of in schema.get("properties", {}).items():
            argument = self._table.arguments.get(name)
            if argument is None:
                properties[name] = of
            elif not argument.hidden:
                properties[name] = _changed(of, argument)
        made: Schema = {**schema, "properties": properties}
        required = [
            name
            for name in schema.get("required", ())
            if name in properties and name not in self._values
        ]
        made.pop("required", None)
        return {**made, "required": required} if required else made

    def _check(self, name: str, argument: ArgumentTable, schema: Schema) -> None:
        properties = schema.get("properties", {})
        if name not in properties:
            near = nearest(name, properties)
            known = ", ".join(properties) or "none"
            hint = f"did you mean '{near}'?" if near else f"known are {known}"
            raise self._misfit(f"arguments.{name}", f"the tool has no such argument; {hint}")
        if argument.value is None:
            if argument.hidden and name in schema.get("required", ()):
                raise self._misfit(
                    f"arguments.{name}", "it is required, so what is hidden needs a value"
                )
            return
        from jsonschema import Draft202012Validator  # 30 ms; few settings set a value

        whole = {**properties[name], "$defs": schema.get("$defs", {})}
        for error in Draft202012Validator(whole).iter_errors(argument.value):
            raise self._misfit(f"arguments.{name}.value", error.message)

    def _misfit(self, key: str, why: str) -> LoadError:
        return LoadError("settings_invalid", f"{self._where}.{key}: {why}")


def _changed(schema: Schema, argument: ArgumentTable) -> Schema:
    changed = {**schema}
    if argument.description is not None:
        changed["description"] = argument.description
    if argument.value is not None:
        changed["default"] = argument.value
    return changed
