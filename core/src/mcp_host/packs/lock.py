"""What of the packs is served that are locked: what is as a person has agreed to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..declarations.contribution import Contribution
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..settings.locked import EntryKey, LockedPack, fingerprint, locked_pack
from ..settings.secrets import Secrets
from .declared import Declared, Offer
from .entry import Entry
from .skills import FoundSkills, Skill

CHANGED, NEW, MOVED = "changed", "new", "moved"
"""Why an entry is withheld: it is another, it was not there, the pack comes from elsewhere."""
INSTRUCTIONS: EntryKey = ("instructions", "")
_WORDS = {
    CHANGED: "it has changed since the pack was locked",
    NEW: "it came after the pack was locked",
    MOVED: "the pack comes from elsewhere than when it was locked",
}


def see_and_agree(pack: str) -> str:
    """Say what to do about a pack of which something is withheld."""
    return f"see what, and agree: mcp-host approve {pack}"


def withheld_line(one: Mapping[str, str]) -> str:
    """Say that an entry is withheld, and why."""
    what = f"{one['kind']} {one['name']}".strip()
    return f"withheld: {what}: {_WORDS[one['why']]}"


class Lock:
    """Compares entries of packs with what was agreed to; packs that are not locked pass."""

    def __init__(self, locked: Mapping[str, LockedPack], secrets: Secrets) -> None:
        self._locked = locked
        self._secrets = secrets

    def holds(self, pack: str) -> bool:
        """Whether a pack is locked."""
        return pack in self._locked

    def withheld(self, declared: Declared, contribution: Contribution) -> str:
        """Return why an entry must not be served; empty where it may."""
        if declared.name not in self._locked:
            return ""
        return self._why(declared, key_of(contribution), entry_of(contribution, self._secrets))

    @staticmethod
    def refusal(pack: str, why: str) -> str:
        """Say why an entry is withheld, and what to do; nothing where it is not."""
        return f"{_WORDS[why]}; {see_and_agree(pack)}" if why else ""

    def report(self, whole: Declared, entries: Sequence[Entry]) -> list[dict[str, str]]:
        """Return what is withheld of a pack, of these entries and of its words, and why."""
        found = [(key_of(entry.contribution), entry.withheld) for entry in entries]
        found += self.words_withheld(whole)
        return [{"kind": kind, "name": own, "why": why} for (kind, own), why in found]

    def warning(self, pack: str, withheld: Sequence[Mapping[str, str]]) -> str:
        """Say in a line what is withheld of a pack."""
        told = ", ".join(f"{one['kind']} {one['name']}".strip() for one in withheld)
        return f"pack {pack}: its lock withholds {told}; {see_and_agree(pack)}"

    def agrees(self, declared: Declared, contribution: Contribution) -> bool:
        """Whether a person has agreed to just this entry."""
        return self.holds(declared.name) and not self.withheld(declared, contribution)

    def trimmed(self, declared: Declared) -> Declared:
        """Return what a pack declares without instructions and skills that are withheld."""
        if declared.name not in self._locked:
            return declared
        out = {key for key, _ in self.words_withheld(declared)}
        skills = tuple(s for s in declared.skills.skills if ("skill", s.name) not in out)
        return replace(
            declared,
            instructions="" if INSTRUCTIONS in out else declared.instructions,
            skills=FoundSkills(skills, declared.skills.problems),
        )

    def words_withheld(self, declared: Declared) -> Iterator[tuple[EntryKey, str]]:
        """Give the instructions and skills that are withheld, and why."""
        if declared.name in self._locked:
            for key, entry in words_of(declared, self._secrets):
                if why := self._why(declared, key, entry):
                    yield key, why

    def _why(self, declared: Declared, key: EntryKey, entry: Any) -> str:
        locked = self._locked[declared.name]
        if origin(declared.offer) != locked.distribution:
            return MOVED
        if key not in locked.fingerprints:
            return NEW
        return "" if locked.fingerprints[key] == fingerprint(entry) else CHANGED


def as_it_is(
    declared: Declared, contributions: Iterator[Contribution], secrets: Secrets
) -> LockedPack:
    """Return a pack as it would be locked now."""
    entries = {key_of(one): entry_of(one, secrets) for one in contributions}
    entries.update(words_of(declared, secrets))
    return locked_pack(origin(declared.offer), declared.offer.version, entries)


def origin(offer: Offer) -> str:
    """Return where a pack comes from: its distribution, or the name of its file."""
    return Path(offer.file).name if offer.file else offer.distribution


def key_of(contribution: Contribution) -> EntryKey:
    """Return the kind of an entry, and the name that it has in its pack."""
    if isinstance(contribution, Resource):
        return ("template" if contribution.is_template else "resource"), contribution.uri
    return ("tool" if isinstance(contribution, Tool) else "prompt"), contribution.name


def entry_of(contribution: Contribution, secrets: Secrets) -> Any:
    """Return an entry as its list has it, under the pack's own names, secrets masked."""
    return secrets.redact_shown(contribution.listed(contribution.name, lambda text: text))


def words_of(declared: Declared, secrets: Secrets) -> Iterator[tuple[EntryKey, Any]]:
    """Give what else a pack tells a model: its instructions, and its skills with their files."""
    if declared.instructions:
        yield INSTRUCTIONS, secrets.redact(declared.instructions)
    for skill in declared.skills.skills:
        yield ("skill", skill.name), _skill(skill)


def _skill(skill: Skill) -> dict[str, Any]:
    folder = Path(skill.folder)
    files = {
        str(path.relative_to(folder)): fingerprint(path.read_bytes().hex())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {"description": skill.description, "text": skill.text, "files": files}
