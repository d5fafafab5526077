"""The tables of mcp-host.toml as frozen models: what may stand in each, and what it means.

Annotations are not kept as texts here: to read them back takes pydantic a fifth of its time.
"""

from typing import Annotated

from pydantic import Field

from .host import HostTable
from .http import HttpLimitsTable, HttpTable, IssuerTable, TokenTable
from .packs import (
    PACK_NAME,
    PROFILE_NAME,
    RESERVED_PACK_NAME,
    ArgumentTable,
    PackTable,
    ProfileTable,
    ToolTable,
)
from .table import Table

__all__ = [
    "PACK_NAME",
    "RESERVED_PACK_NAME",
    "ArgumentTable",
    "FileTables",
    "FileTablesWithoutHttp",
    "HostTable",
    "HttpLimitsTable",
    "HttpTable",
    "IssuerTable",
    "PackTable",
    "ProfileTable",
    "TokenTable",
    "ToolTable",
]

Packs = dict[Annotated[str, Field(pattern=PACK_NAME)], PackTable]
Profiles = dict[Annotated[str, Field(pattern=PROFILE_NAME)], ProfileTable]


class FileTables(Table):
    """The whole of mcp-host.toml."""

    host: HostTable = Field(default_factory=HostTable.model_construct)
    http: HttpTable = Field(default_factory=HttpTable.model_construct)
    packs: Packs = Field({})
    profiles: Profiles = Field({})


class FileTablesWithoutHttp(Table):
    """The same where a file has no table [http]: what would check it is 5 ms of a start."""

    host: HostTable = Field(default_factory=HostTable.model_construct)
    packs: Packs = Field({})
    profiles: Profiles = Field({})

    @property
    def http(self) -> HttpTable:
        """The table [http] as it is where nothing is said."""
        return HttpTable.model_construct()
