"""Schemas beyond the plain ones."""

import json
from typing import Annotated, Any

from mcp_host import Header, tool
from pydantic import Field

CONTACT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Keywords of JSON Schema 2020-12 that a server must hand on as they are."""


@tool(read_only=True, input_schema=CONTACT)
def json_schema_2020_12_tool(contact: dict[str, Any]) -> str:
    """Take a contact that satisfies the schema, and show it."""
    return json.dumps(contact)


@tool(read_only=True)
def test_x_mcp_header(
    region: Annotated[str, Header("Region"), Field(description="Repeated in a header")] = "none",
) -> str:
    """Say the region."""
    return f"region={region}"


TOOLS = (json_schema_2020_12_tool, test_x_mcp_header)
