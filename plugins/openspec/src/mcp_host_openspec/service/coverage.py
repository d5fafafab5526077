"""Specs that know the code: which scenarios have tests, and how these went."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from ..errors import OpenSpecError
from ..model.markers import Marker, Place, Places, marker_of, markers_in, slug
from ..model.spec import Requirement
from ..storage.test_runs import Case, cases_in, report_files, test_files
from .openspec import OpenSpec

Data = dict[str, Any]

STATES: Final = ("failed", "passed", "skipped", "not run", "marked")
"""What a scenario's tests are, the word that counts first; without reports they are marked."""


class Test(NamedTuple):
    """A test that a marker ties to a scenario."""

    marker: Marker
    state: str


@dataclass(slots=True)
class Covered:
    """One requirement with the tests of its scenarios."""

    capability: str
    requirement: str
    scenarios: dict[str, list[Test]]
    own: list[Test] = field(default_factory=list)
    """Tests of the requirement as a whole; they cover no scenario."""

    def state(self, scenario: str) -> str | None:
        """How the tests of a scenario went; None where it has none."""
        there = {test.state for test in self.scenarios[scenario]}
        return next((state for state in STATES if state in there), None)

    def is_covered(self, scenario: str) -> bool:
        """Whether a scenario has a test, and where reports tell, one that passed and none that
        failed."""
        return self.state(scenario) in ("passed", "marked")


class Coverage(NamedTuple):
    """What is tested of a tree's specs."""

    requirements: tuple[Covered, ...]
    gone: tuple[tuple[Marker, str], ...]
    """Markers of what is not in the specs, each with why."""

    def of(self, capabilities: Sequence[str]) -> "Coverage":
        """What of it is about some capabilities."""
        prefixes = tuple(slug(name) for name in capabilities)
        return Coverage(
            tuple(row for row in self.requirements if row.capability in capabilities),
            tuple(one for one in self.gone if slug(one[0].path).startswith(prefixes)),
        )

    @property
    def total(self) -> int:
        """How many scenarios there are."""
        return sum(len(one.scenarios) for one in self.requirements)

    @property
    def covered(self) -> int:
        """How many of them are covered."""
        return sum(one.is_covered(name) for one in self.requirements for name in one.scenarios)

    @property
    def percent(self) -> float:
        """The part that is covered, rounded down to a tenth; all of nothing is 100."""
        return 100.0 if not self.total else int(1000 * self.covered / self.total) / 10


def coverage_of(
    openspec: OpenSpec,
    *,
    only: Sequence[str] = (),
    tests: Sequence[str] = (),
    reports: Sequence[str] = (),
) -> Coverage:
    """Tie the markers in the project's tests, and in reports, to the scenarios of its specs.

    `only` some capabilities are told of, without it all. A spec that cannot be read is left out.
    """
    for name in only:
        openspec.spec(name)  # NotFoundError where there is none
    tree, specs = openspec.tree, {}
    for name in openspec.capabilities():
        with suppress(OSError, OpenSpecError):
            specs[name] = tree.spec(name).requirements
    markers = [
        marker
        for file, text in test_files(tree.root.path, tree.openspec, tests)
        for marker in markers_in(text, file)
    ]
    files = report_files(tree.root.path, reports)
    cases = [case for path in files for case in cases_in(path)]
    whole = _tied(specs, markers, cases if reports else None)
    return whole if not only else whole.of(only)


def _tied(
    specs: Mapping[str, Sequence[Requirement]],
    markers: Iterable[Marker],
    cases: Sequence[Case] | None,
) -> Coverage:
    rows = {
        (capability, one.name): Covered(
            capability, one.name, {scenario.name: [] for scenario in one.scenarios}
        )
        for capability, requirements in specs.items()
        for one in requirements
    }
    places, gone = Places(specs), []
    for test in _tests(markers, cases):
        place, problem = places.find(test.marker)
        if place is None:
            gone.append((test.marker, problem))
        else:
            _put(rows, place, test)
    return Coverage(tuple(rows.values()), tuple(gone))


def _put(rows: dict[tuple[str, str], Covered], place: Place, test: Test) -> None:
    row = rows[place.capability, place.requirement]
    (row.own if place.scenario is None else row.scenarios[place.scenario]).append(test)


def _tests(markers: Iterable[Marker], cases: Sequence[Case] | None) -> Iterator[Test]:
    """Every marker with how its test went, and the markers that reports hold themselves."""
    if cases is None:
        yield from (Test(marker, "marked") for marker in markers)
        return
    by_name: dict[str, list[Case]] = {}
    for case in cases:
        by_name.setdefault(_bare(case.name), []).append(case)
    for marker in markers:
        yield Test(marker, _state(_runs(marker, by_name)))
    for case in cases:
        told = [marker_of(text, case.where, 0, case.name) for text in case.markers]
        told += markers_in(case.name, case.where)
        yield from (Test(marker, case.outcome) for marker in told if marker is not None)


def _bare(name: str) -> str:
    """The name of a test without its parameters, and without the groups before it."""
    name = name.rpartition(" › ")[2].rpartition(" > ")[2]
    return name.partition("[")[0].partition("(")[0].strip()


def _runs(marker: Marker, by_name: Mapping[str, list[Case]]) -> list[Case]:
    """The runs of the test that a marker stands at; of several of a name, those of its file."""
    if marker.test is None:
        return []
    found = by_name.get(_bare(marker.test), [])
    if not found:
        found = [
            case
            for name, cases in by_name.items()
            if name.endswith(f" {marker.test}")
            for case in cases
        ]
    stem = PurePosixPath(marker.file).name.split(".")[0]
    same_file = [case for case in found if stem in case.where.replace("\\", "/")]
    return same_file or found


def _state(runs: Sequence[Case]) -> str:
    there = {case.outcome for case in runs}
    return next((state for state in STATES if state in there), "not run")


def summary(coverage: Coverage) -> Data:
    """The counts."""
    return {
        "scenarios": coverage.total,
        "covered": coverage.covered,
        "percent": coverage.percent,
        "requirements": len(coverage.requirements),
        "gone": len(coverage.gone),
    }


def requirement_row(row: Covered, *, with_tests: bool) -> Data:
    """One requirement: its scenarios by how their tests went."""
    covered = [name for name in row.scenarios if row.is_covered(name)]
    states = {name: row.state(name) for name in row.scenarios}
    told: Data = {
        "capability": row.capability,
        "requirement": row.requirement,
        "scenarios": len(row.scenarios),
        "covered": len(covered),
        "missing": [name for name, state in states.items() if state is None],
    }
    if failing := {n: s for n, s in states.items() if s in ("failed", "skipped", "not run")}:
        told["notPassed"] = failing
    if with_tests:
        told["tests"] = {
            name: [_shown(test) for test in tests] for name, tests in row.scenarios.items() if tests
        }
        if row.own:
            told["ofTheWhole"] = [_shown(test) for test in row.own]
    return told


def gone_row(marker: Marker, problem: str) -> Data:
    """A test of what is not there."""
    where = f"{marker.file}:{marker.line}" if marker.line else marker.file
    return {"marker": str(marker), "at": where, "problem": problem}


def _shown(test: Test) -> Data:
    marker = test.marker
    where = f"{marker.file}:{marker.line}" if marker.line else marker.file
    return {"at": where, "test": marker.test, "state": test.state}
