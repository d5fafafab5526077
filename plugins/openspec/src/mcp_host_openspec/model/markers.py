"""Markers in tests: which scenario a test is about, and the names that mean one scenario.

A marker is `spec:<capability>#<scenario>` or `spec:<capability>/<requirement>#<scenario>`, in a
comment, a name or a string. Names are compared as slugs: `Right password` is `right-password`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .spec import Requirement

_MARKER: Final = re.compile(
    r"""(?<![\w/-])(?:(?<!\.)spec
        :(?P<path>[\w./-]*[\w])(?:\#(?:(?P<quote>["'`])(?P<quoted>[^"'`\n]+)(?P=quote)
            |(?P<slug>[\w.-]*\w)))?
        |spec\(\s*(?P<mark>["'])(?P<call>[^"'\n]+)(?P=mark)
    )""",
    re.VERBOSE,
)
_NOT_WORD: Final = re.compile(r"[\W_]+")
_TEST: Final = re.compile(
    r"""^\s*(?:
        (?:async\s+)?def\s+(?P<python>test\w*)
        |(?:(?:it|test|specify)(?:\.\w+)*\s*\(|\bit\s+|\btest\s+)\s*["'`](?P<named>.+?)["'`]\s*[,{]
        |(?:it|test|specify)\s+["'](?P<ruby>.+?)["']\s+do
        |func\s+(?P<go>Test\w+)
        |(?:pub\s+)?(?:async\s+)?fn\s+(?P<rust>\w+)
        |(?:(?:public|private|protected|internal|static|async|final|override|suspend)\s+)*
            (?:void|fun|Task|function|def)\s+`?(?P<other>[\w ]+?)`?\s*\(
    )""",
    re.VERBOSE,
)
_ABOVE: Final = re.compile(r"""\s*(?:$|\#|//|/\*|\*|--|@|\[|<|["'`]{3})""")


class Marker(NamedTuple):
    """A marker in a file."""

    path: str
    """What stands before the `#`."""
    name: str | None
    """What stands after it."""
    file: str
    line: int
    test: str | None
    """The name of the test that it stands in or above, where one was found."""

    def __str__(self) -> str:
        return f"spec:{self.path}" + (f"#{self.name}" if self.name is not None else "")


class Place(NamedTuple):
    """What a marker is about: a requirement, and one scenario of it or none."""

    capability: str
    requirement: str
    scenario: str | None


def slug(name: str) -> str:
    """A name without regard to case, spaces and signs."""
    return _NOT_WORD.sub("-", name.casefold()).strip("-")


def markers_in(text: str, file: str) -> Iterator[Marker]:
    """The markers in a file, from top to bottom."""
    if "spec:" not in text and "spec(" not in text:
        return
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for found in _MARKER.finditer(line):
            path, name = _read(found)
            if path:
                yield Marker(path, name, file, number + 1, _test_at(lines, number))


def marker_of(text: str, file: str, line: int, test: str | None) -> Marker | None:
    """What a text alone says, as the value of a property in a report does."""
    path, _, name = text.removeprefix("spec:").partition("#")
    path = path.strip()
    return Marker(path, name.strip() or None, file, line, test) if path else None


def _read(found: re.Match[str]) -> tuple[str, str | None]:
    if found["call"] is not None:
        path, _, name = found["call"].removeprefix("spec:").partition("#")
        return path.strip(), name.strip() or None
    return found["path"], found["quoted"] or found["slug"]


def _test_at(lines: Sequence[str], number: int) -> str | None:
    """The test that a line begins or stands right above, else the last one before it."""
    for line in lines[number:]:
        found = _TEST.match(line)
        if found and _indent(line) == _indent(lines[number]):
            return _name(found)
        if found or not _ABOVE.match(line):
            break
    for line in reversed(lines[:number]):
        if found := _TEST.match(line):
            return _name(found)
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _name(found: re.Match[str]) -> str:
    return next(name for name in found.groups() if name is not None)


class Places:
    """Finds what a marker is about, in the specs of a tree."""

    def __init__(self, specs: Mapping[str, Sequence[Requirement]]) -> None:
        self._specs: dict[str, tuple[str, Sequence[Requirement]]] = {
            _path_slug(capability): (capability, requirements)
            for capability, requirements in specs.items()
        }

    def find(self, marker: Marker) -> tuple[Place | None, str]:
        """The place of a marker; else None and why there is none."""
        path = _path_slug(marker.path)
        problem = f"there is no capability {marker.path}"
        if path in self._specs:
            capability, requirements = self._specs[path]
            found = _in_capability(capability, requirements, marker.name)
            if isinstance(found, Place):
                return found, ""
            problem = found
        above, _, inner = path.rpartition("/")
        if above in self._specs:
            capability, requirements = self._specs[above]
            for requirement in requirements:
                if slug(requirement.name) == inner:
                    return _in_requirement(capability, requirement, marker.name)
            if path not in self._specs:
                problem = f"{capability} has no requirement {marker.path.rpartition('/')[2]}"
        return None, problem


def _path_slug(path: str) -> str:
    return "/".join(slug(part) for part in path.strip("/").split("/"))


def _in_capability(
    capability: str, requirements: Sequence[Requirement], name: str | None
) -> Place | str:
    if name is None:
        return "no scenario is named"
    wanted = slug(name)
    found = [
        Place(capability, requirement.name, scenario.name)
        for requirement in requirements
        for scenario in requirement.scenarios
        if slug(scenario.name) == wanted
    ]
    if len(found) > 1:
        listed = ", ".join(slug(place.requirement) for place in found)
        return f"{capability} has this scenario in several requirements: {listed}"
    if found:
        return found[0]
    for requirement in requirements:
        if slug(requirement.name) == wanted:
            return Place(capability, requirement.name, None)
    return f"{capability} has no scenario {name}"


def _in_requirement(
    capability: str, requirement: Requirement, name: str | None
) -> tuple[Place | None, str]:
    if name is None:
        return Place(capability, requirement.name, None), ""
    for scenario in requirement.scenarios:
        if slug(scenario.name) == slug(name):
            return Place(capability, requirement.name, scenario.name), ""
    return None, f"{requirement.name} of {capability} has no scenario {name}"
