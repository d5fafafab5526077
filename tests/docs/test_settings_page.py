"""The settings page tells of every key: its default and its meaning, as the models have them."""

import json
import re
from pathlib import Path
from typing import Any

import mcp_host
import pytest
from docs_pages import DOCS, sections
from mcp_host.settings.tables import (
    ArgumentTable,
    FileTables,
    HostTable,
    HttpLimitsTable,
    HttpTable,
    IssuerTable,
    PackTable,
    ProfileTable,
    TokenTable,
    ToolTable,
)
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

PAGE = DOCS / "reference" / "settings.md"
TABLES: dict[str, type[BaseModel]] = {
    "[host]": HostTable,
    "[http]": HttpTable,
    "[http.limits]": HttpLimitsTable,
    "[[http.tokens]]": TokenTable,
    "[http.auth]": IssuerTable,
    "[profiles.X]": ProfileTable,
    "[packs.X]": PackTable,
    "[packs.X.tools.T]": ToolTable,
    "[packs.X.tools.T.arguments.A]": ArgumentTable,
}


def shown(field: Any) -> str:
    """A default as TOML has it."""
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined:
        return "unset"
    if isinstance(value, BaseModel):
        return "below"
    return f"`{json.dumps(value)}`"


def rows(model: type[BaseModel]) -> list[str]:
    return [
        f"| `{name}` | {shown(field)} | {field.description} |"
        for name, field in model.model_fields.items()
    ]


@pytest.mark.parametrize("heading", TABLES)
def test_the_table_of_keys_is_that_of_the_model(heading: str) -> None:
    section = sections(PAGE)[heading]
    listed = [line for line in section.splitlines() if line.startswith("| `")]

    assert listed == rows(TABLES[heading])


def test_every_table_of_the_file_has_a_section() -> None:
    assert set(FileTables.model_fields) == {"host", "http", "packs", "profiles"}
    assert set(TABLES) <= set(sections(PAGE))


def test_every_variable_that_the_host_reads_is_told() -> None:
    sources = Path(mcp_host.__file__).parent.rglob("*.py")
    read = {name for one in sources for name in re.findall(r"MCP_HOST_[A-Z_]+", one.read_text())}
    told = re.findall(r"^\| `(MCP_HOST_\w+)` ", sections(PAGE)["Environment variables"], re.M)

    assert read == set(told)
