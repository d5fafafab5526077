"""The skills of packs as entries of the list of resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..declarations.handle import PackSkill
from ..declarations.resource import Resource
from ..settings.secrets import Secrets
from .entry import Entry
from .told import elsewhere

MIME = "text/markdown"


def listed_skills(
    skills: Iterable[PackSkill], readers: Mapping[str, str], secrets: Secrets
) -> Iterator[Entry]:
    """Give an entry for each skill, at the URI under which another pack gives its text.

    `readers` has these packs, each with its URIs: `{pack}` and `{name}` stand for a skill's. The
    entries are for lists alone: what is read is found by the resources of the reader.
    """
    for skill in skills:
        for reader, at in readers.items():
            uri = at.replace("{pack}", skill.pack).replace("{name}", skill.name)
            made = Resource(elsewhere, skill.name, skill.description, uri=uri, mime=MIME)
            listed = secrets.redact_shown(made.listed(skill.name, str))
            yield Entry(skill.pack, uri, made, listed, reader=reader)
