"""The catalog: what every pack contributes, under the names that clients know, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from ..declarations.context import Caller
from ..declarations.contribution import Contribution
from ..declarations.extension import LongCalls, Subscriptions
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..errors import nearest
from ..settings.secrets import Secrets
from ..settings.tables import PackTable
from .declared import Declared, LoadError
from .entry import LISTS, Entry, What, kind_of, list_of
from .naming import LONG_NAME, NAME, Naming
from .transforms import Transform

if TYPE_CHECKING:
    from .lock import Lock  # few hosts have locked packs

LONGEST_URI = 4096
"""Longer ones are nobody's: several `{+x}` in a template are tried in many ways."""


class Catalog:
    """Everything that is contributed, in the order of the settings file; `secrets` are masked.

    What `lock` does not agree to is refused.

    Invariants: no two entries of one list that one caller can see have the same `key`. An entry
    stands in the table of its list, or, where it was offered to one caller, in `_owned`; `_owners`
    counts the keys of those. What a pack declares is taken in as a whole, or not at all.
    """

    def __init__(self, secrets: Secrets, lock: Lock | None = None) -> None:
        self._secrets = secrets
        self.lock = lock
        self.tools: dict[str, Entry] = {}
        self.prompts: dict[str, Entry] = {}
        self.resources: dict[str, Entry] = {}
        self.templates: dict[str, Entry] = {}
        self.methods: dict[str, Entry] = {}
        self.extensions: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self.long_calls: dict[str, tuple[str, LongCalls]] = {}
        self.skills_at: dict[str, str] = {}
        self.subscriptions: dict[str, tuple[str, Subscriptions]] = {}
        self._warnings: list[tuple[str, str]] = []
        self._owned: dict[tuple[What, str, str], Entry] = {}
        self._owners: Counter[tuple[What, str]] = Counter()

    @property
    def warnings(self) -> list[str]:
        """What whoever keeps the settings file should mend."""
        return [said for _, said in self._warnings]

    def add(self, declared: Declared, *, prefixed: bool = True) -> None:
        """Take in all that a pack declares, or nothing: `LoadError` names the clash or the name."""
        self._check_settings(declared)
        taken = {(what, entry.key): entry for what in LISTS for entry in self._table(what).values()}
        taken.update(((what, entry.key), entry) for (what, _, _), entry in self._owned.items())
        entries: list[tuple[What, Entry]] = []
        without: list[str] = []
        for what, entry in self._entries(declared, prefixed):
            other = taken.get((what, entry.key))
            if other is not None and _does_without(declared, entry, other):
                said = f"the resource {entry.name!r} is withheld: {other.pack} has one of this URI"
                without.append(f"{declared.name}: {said}")
                continue
            self._check(declared, entry, other)
            taken[what, entry.key] = entry
            entries.append((what, entry))
        methods = list(self._methods(declared))
        self._warnings += [(declared.name, said) for said in without]
        for what, entry in entries:
            self._table(what)[entry.name] = entry
            if len(entry.name) > LONG_NAME and entry.has_name:
                said = (
                    f"{entry.name}: {len(entry.name)} characters; some clients cut names of more "
                    f"than {LONG_NAME}; a shorter prefix in [packs.{declared.name}] helps"
                )
                self._warnings.append((declared.name, said))
        self.methods.update((entry.name, entry) for entry in methods)
        for extension in declared.extensions:
            self.extensions[extension.identifier] = declared.name, extension.settings
            if extension.long_calls is not None:
                self.long_calls[declared.name] = extension.identifier, extension.long_calls
            if extension.subscriptions is not None:
                own = extension.identifier, extension.subscriptions
                self.subscriptions[declared.name] = own
            if extension.skills_at:
                self.skills_at[declared.name] = extension.skills_at

    def remove(self, pack: str) -> None:
        """Take out all that a pack declares; what it offers is withdrawn one by one."""
        tables = (*(self._table(what) for what in LISTS), self.methods)
        for table in tables:
            for name in [name for name, entry in table.items() if entry.pack == pack]:
                del table[name]
        self.long_calls.pop(pack, None)
        self.skills_at.pop(pack, None)
        self.subscriptions.pop(pack, None)
        for identifier in [one for one, (whose, _) in self.extensions.items() if whose == pack]:
            del self.extensions[identifier]
        self._warnings = [(whose, said) for whose, said in self._warnings if whose != pack]

    def offer(
        self,
        declared: Declared,
        contribution: Contribution,
        naming: Naming,
        *,
        target: str,
        whose: str | None,
        instead_of: Entry | None = None,
    ) -> Entry:
        """Take in something that a pack offers while it serves, `instead_of` what it did before.

        `LoadError` says why not; then all is as it was.
        """
        what = list_of(contribution)
        name = contribution.offered_name
        if isinstance(contribution, Tool):
            name = naming.public_tool(name)
        elif not isinstance(contribution, Resource):
            name = naming.public(name)
        entry = self._entry(declared, name, contribution, naming, target, whose)
        other = self._holder(what, entry)
        self._check(declared, entry, None if other is instead_of else other)
        if instead_of is not None:
            self.withdraw(instead_of)
        if whose is None:
            self._table(what)[name] = entry
        else:
            self._owned[what, whose, name] = entry
            self._owners[what, entry.key] += 1
        return entry

    def withdraw(self, entry: Entry) -> None:
        """Take out an entry that was offered."""
        what = list_of(entry.contribution)
        if entry.whose is None:
            del self._table(what)[entry.name]
            return
        del self._owned[what, entry.whose, entry.name]
        self._owners[what, entry.key] -= 1
        if not self._owners[what, entry.key]:
            del self._owners[what, entry.key]

    def restore(self, entry: Entry) -> None:
        """Put an entry back that a pack has declared and had withdrawn or replaced."""
        self._table(list_of(entry.contribution))[entry.name] = entry

    def declared_by(self, pack: str, name: str, kind: type[Any]) -> list[Entry]:
        """What a pack has declared under its own name, of this kind of contribution."""
        return [
            entry
            for what in LISTS
            for entry in self._table(what).values()
            if entry.pack == pack
            and entry.target == entry.contribution.offered_name == name
            and isinstance(entry.contribution, kind)
        ]

    def find(self, what: What, name: str, caller: Caller) -> Entry | None:
        """The entry of this name (or URI, or template) that there is for a caller."""
        found = self._table(what).get(name)
        if found is None and self._owned and caller.identity is not None:
            found = self._owned.get((what, caller.identity, name))
        return None if found is None or found.is_hidden else found

    def template(self, listed: str, caller: Caller) -> Entry | None:
        """The template that is listed so; a mounted server's may be matched by another text."""
        found = self.find("resourceTemplates", listed, caller)
        return found or next(
            (
                entry
                for entry in self._templates(caller)
                if not entry.is_hidden
                and entry.contribution.listed("", str).get("uriTemplate") == listed
            ),
            None,
        )

    def resource(self, uri: str, caller: Caller) -> tuple[Entry | None, dict[str, str]]:
        """Which resource a URI means, and the values of its template."""
        if len(uri) > LONGEST_URI:
            return None, {}
        found = self.find("resources", uri, caller)
        if found is not None:
            return found, {}
        for entry in self._templates(caller):
            try:
                values = cast(Resource, entry.contribution).template.match(uri)
            except UnicodeDecodeError:
                continue
            if values is not None:
                return entry, values
        return None, {}

    def entries(self, what: What) -> Iterable[Entry]:
        """The entries of one list, in its order, without those that the settings hide."""
        entries = list(self._table(what).values())
        if self._owned:
            entries += [entry for (of, _, _), entry in self._owned.items() if of == what]
        return [entry for entry in entries if not entry.is_hidden]

    def _table(self, what: What) -> dict[str, Entry]:
        if what == "tools":
            return self.tools
        if what == "prompts":
            return self.prompts
        return self.resources if what == "resources" else self.templates

    def _templates(self, caller: Caller) -> Iterable[Entry]:
        yield from self.templates.values()
        if self._owned:
            yield from [
                entry
                for (what, whose, _), entry in self._owned.items()
                if what == "resourceTemplates" and whose == caller.identity
            ]

    def _holder(self, what: What, entry: Entry) -> Entry | None:
        """The entry that has what this one wants: for everybody, for its caller, or for another."""
        if what != "resourceTemplates":
            other = self._table(what).get(entry.name)
        else:
            other = next((one for one in self.templates.values() if one.key == entry.key), None)
        if other is not None:
            return other
        if entry.whose is not None:
            return self._owned.get((what, entry.whose, entry.name))
        if not self._owners[what, entry.key]:
            return None
        return next(
            one for (of, _, _), one in self._owned.items() if of == what and one.key == entry.key
        )

    def _methods(self, declared: Declared) -> Iterable[Entry]:
        """The methods of a pack's extensions; `LoadError` where another pack has one already."""
        named: set[str] = set()
        for extension in declared.extensions:
            if extension.identifier in self.extensions or extension.identifier in named:
                self._refuse_double(declared, "extension", extension.identifier)
            named.add(extension.identifier)
            for method in (*extension.methods, *extension.notifications):
                if method.name in self.methods or method.name in named:
                    self._refuse_double(declared, "method", method.name)
                named.add(method.name)
                refusal = ""
                if declared.table.read_only and not method.read_only:
                    refusal = "the settings allow only reading"
                yield Entry(declared.name, method.name, method, {}, refusal, method.name)

    def _refuse_double(self, declared: Declared, kind: str, name: str) -> None:
        raise LoadError(
            "name_clash",
            f"the {kind} {name} of {declared.name} is there already",
            f"disable {declared.name} or the other pack: these names are the packs' own",
        )

    def _entries(self, declared: Declared, prefixed: bool) -> Iterable[tuple[What, Entry]]:
        naming = Naming(declared, prefixed)
        for tool in declared.tools:
            name = naming.public_tool(tool.name)
            yield "tools", self._entry(declared, name, tool, naming)
        for prompt in declared.prompts:
            yield "prompts", self._entry(declared, naming.public(prompt.name), prompt, naming)
        for resource in declared.resources:
            yield list_of(resource), self._entry(declared, resource.uri, resource, naming)

    def _entry(
        self,
        declared: Declared,
        name: str,
        contribution: Contribution,
        naming: Naming,
        target: str = "",
        whose: str | None = None,
    ) -> Entry:
        shown = contribution.name if isinstance(contribution, Resource) else name
        resolve: Callable[[str], str] = naming.resolve
        listed: Mapping[str, Any] = contribution.listed(shown, resolve)
        withheld = refusal = ""
        if self.lock is not None:
            withheld = self.lock.withheld(declared, contribution)
            refusal = self.lock.refusal(declared.name, withheld)
        if isinstance(contribution, Tool):
            contribution = self._believed(declared, contribution)
            refusal = _refusal(contribution, declared.table) or refusal
        transform = _transform(contribution, declared)
        if transform is not None:
            listed = transform.listed(listed)
        listed = self._secrets.redact_shown(listed)
        return Entry(
            declared.name,
            name,
            contribution,
            listed,
            refusal,
            target or contribution.offered_name,
            whose,
            transform,
            withheld,
        )

    def _believed(self, declared: Declared, tool: Tool) -> Tool:
        """Return a tool as the host goes by it: what a mounted server says of it may be wrong.

        It grants nothing and repeats nothing until a person has agreed to it.
        """
        says_nothing = not (tool.read_only or tool.idempotent or tool.key)
        if says_nothing or not declared.is_brought or declared.table.trust_annotations:
            return tool
        if self.lock is not None and self.lock.agrees(declared, tool):
            return tool
        return tool.replace(read_only=False, idempotent=False, key=None)

    def withheld(self, pack: str) -> list[Entry]:
        """Return the entries of a pack that its lock keeps back."""
        entries = (entry for what in LISTS for entry in self.everything(what))
        return [entry for entry in entries if entry.withheld and entry.pack == pack]

    def everything(self, what: What) -> list[Entry]:
        """The entries of one list, also those that the settings hide or that are for one caller."""
        owned = [entry for (of, _, _), entry in self._owned.items() if of == what]
        return [*self._table(what).values(), *owned]

    def _check_settings(self, declared: Declared) -> None:
        """Settings of tools that the pack does not have are mistakes of the file."""
        if declared.needs.changes_lists:
            return  # tools that it offers later have settings as well
        where, names = f"packs.{declared.name}", [tool.name for tool in declared.tools]
        for name in declared.table.tools:
            if name not in names:
                near = nearest(name, names)
                hint = f"did you mean '{near}'?" if near else f"known are {', '.join(names)}"
                raise LoadError("settings_invalid", f"{where}.tools.{name}: no such tool; {hint}")
        for key in ("include", "exclude"):
            for glob in getattr(declared.table, key):
                if not any(fnmatchcase(name, glob) for name in names):
                    said = f"{where}.{key}: {glob!r} matches none of its tools"
                    self._warnings.append((declared.name, said))

    def _check(self, declared: Declared, entry: Entry, other: Entry | None) -> None:
        """`LoadError` where the name cannot be, or is `other`'s already."""
        kind = kind_of(entry.contribution)
        if entry.has_name and not NAME.fullmatch(entry.name):
            raise LoadError(
                "name_invalid",
                f"the {kind} name {entry.name!r} is not of A-Z, a-z, 0-9, _ and -, up to 64",
                f"rename it, or set a shorter prefix in [packs.{declared.name}]",
            )
        if other is not None and other.pack == declared.name:
            raise LoadError("name_clash", f"it declares two {kind}s called {entry.name}")
        if other is not None:
            remedy = (
                f"set another prefix in [packs.{declared.name}]"
                if entry.has_name
                else f"disable {declared.name} or {other.pack}: URIs are the packs' own"
            )
            raise LoadError(
                "name_clash",
                f"{declared.name} and {other.pack} both have a {kind} {entry.name}",
                remedy,
            )


def _does_without(declared: Declared, entry: Entry, other: Entry) -> bool:
    """Whether a pack is served without an entry that another has already.

    Two mounts of one server have the same URIs, and nobody can give them others.
    """
    return declared.is_brought and not entry.has_name and other.pack != declared.name


def _transform(contribution: Contribution, declared: Declared) -> Transform | None:
    """What the settings make of a contribution; None where they say nothing of it."""
    table = declared.table.tools.get(contribution.name)
    if table is None or not isinstance(contribution, Tool):
        return None
    return Transform(contribution, table, f"packs.{declared.name}.tools.{contribution.name}")


def _refusal(tool: Tool, table: PackTable) -> str:
    if table.include and not any(fnmatchcase(tool.name, glob) for glob in table.include):
        return "the settings do not include this tool"
    if any(fnmatchcase(tool.name, glob) for glob in table.exclude):
        return "the settings exclude this tool"
    if table.read_only and not tool.read_only:
        return "the settings allow only reading"
    return ""
