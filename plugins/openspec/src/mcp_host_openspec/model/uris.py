"""The URIs under which clients read a tree."""

from typing import Final
from urllib.parse import quote

INSTRUCTIONS: Final = "openspec://instructions"
PROJECT: Final = "openspec://project"
SPECS: Final = "openspec://specs"
CHANGES: Final = "openspec://changes"
ARCHIVE: Final = "openspec://archive"


def spec_uri(capability: str) -> str:
    """The URI of a spec; a slash in the capability is written %2F."""
    return f"{SPECS}/{quote(capability, safe='')}"


def change_uri(change: str, text: str | None = None) -> str:
    """The URI of a change, or of its proposal, tasks or design."""
    uri = f"{CHANGES}/{quote(change, safe='')}"
    return f"{uri}/{text}" if text else uri
