"""The files of skills as resources, and a list of them for clients without the extension."""

from typing import Any

from mcp_host import Context, Embedded, resource

from .errors import SkillsError
from .model import SCHEME, Skills
from .reading import readable


@resource(
    "skill://{+path}",
    name="skill_file",
    title="A file of a skill",
    description="A file of a skill that a pack ships, such as skill://PACK/NAME/SKILL.md.",
)
def skill_file(skills: Skills, /, path: str, context: Context) -> Embedded:
    uri = f"{SCHEME}{path}"
    found = skills.file(uri, readable(context.caller))
    if found is None:
        raise SkillsError(f"Unknown resource: {uri}")
    content, mime = found
    try:
        return Embedded(uri, content.decode("utf-8"), mime)
    except UnicodeDecodeError:
        return Embedded(uri, content, mime)


@resource(
    "skill-index://skills",
    name="skills",
    title="Skills",
    description="How to do certain work well with these tools: each skill's name, when to use it, "
    "and the URI to read it at.",
    mime="application/json",
)
def index(skills: Skills, /, context: Context) -> list[dict[str, Any]]:
    return [
        {
            "name": entry["frontmatter"].get("name"),
            "description": entry["frontmatter"].get("description"),
            "uri": entry["uri"],
        }
        for entry in skills.entries(readable(context.caller))
    ]
