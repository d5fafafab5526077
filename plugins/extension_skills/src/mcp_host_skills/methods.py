"""The three methods of the extension."""

from typing import Any

from mcp_host import Context, method

from .errors import SkillsError
from .model import Skills
from .reading import readable

PAGE = 50
TTL_MS = 60_000
CACHED = {"ttlMs": TTL_MS, "cacheScope": "private"}


@method("skills/list", read_only=True)
def list_skills(skills: Skills, /, context: Context, cursor: str | None = None) -> dict[str, Any]:
    """Return the entries of all skills that the caller may read, a page at a time."""
    entries = skills.entries(readable(context.caller))
    page, following = _page(entries, cursor)
    return {"skills": page, **following, **CACHED}


@method("skills/get", read_only=True)
def get_skill(skills: Skills, /, uri: str, context: Context) -> dict[str, Any]:
    """Return the entry of one skill."""
    one = skills.at(uri, readable(context.caller))
    entry = one.entry() if one is not None and one.uri == uri else None
    if entry is None:
        raise SkillsError(f"No skill is served at {uri}")
    return {"skill": entry, **CACHED}


@method("resources/directory/read", read_only=True)
def read_directory(
    skills: Skills, /, uri: str, context: Context, cursor: str | None = None
) -> dict[str, Any]:
    """Return what lies directly in a folder of a skill."""
    children = skills.children(uri, readable(context.caller))
    if children is None:
        raise SkillsError(f"{uri} is not a directory resource")
    page, following = _page(children, cursor)
    return {"resources": page, **following}


def _page(
    entries: list[dict[str, Any]], cursor: str | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
        raise SkillsError("cursor must be the nextCursor of the page before")
    start = int((cursor or "0")[:9])
    end = start + PAGE
    return entries[start:end], {"nextCursor": str(end)} if end < len(entries) else {}
