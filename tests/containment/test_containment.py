"""What packs do on purpose: the host contains it, and the page says exactly what it contains."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
import page
import pytest
from hostile.registry import Expected, Way, ways

ALL = ways()
SHORT = (
    "importing.raises_what_has_no_text",
    "hooks.tool_has_a_name_that_is_code",
    "answers.has_no_end",
    "errors.has_endless_details",
    "storms.of_everything_from_ten_threads",
    "descriptors.take_all_while_imported",
    "processes.fork_while_imported",
    "logs.made_of_code",
)
"""Some of the large families, none of which waits for long; `make torture` runs all ways."""
SHORT_IN_A_PROCESS = (
    "importing.crashes",
    "signals.segmentation_fault",
    "processes.exit_at_once",
    "interpreter.recursion_is_limited",
    "storms.of_changes",
)
"""Some of those that end or change the process that they are in."""


def measured(way: Way, folder: Path) -> harness.Measured:
    found = harness.measure(way, folder, is_watched=True)
    assert page.is_as_expected(way, found), f"{found.outcome}: {found}"
    return found


def measured_in_a_process(way: Way, folder: Path) -> harness.Measured:
    return harness.measure(way, folder, in_a_process=True)


def test_whatever_a_pack_does_its_neighbour_answers(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in SHORT]
    for folder in folders:
        folder.mkdir()

    with ThreadPoolExecutor(3) as pool:  # most of the time is waiting
        list(pool.map(measured, (ALL[name] for name in SHORT), folders))


def test_what_ends_a_process_ends_its_own_and_no_other(tmp_path: Path) -> None:
    assert not_contained_in_processes([ALL[name] for name in SHORT_IN_A_PROCESS], tmp_path) == {}


@pytest.mark.torture
def test_in_a_process_of_its_own_every_way_is_contained(tmp_path: Path) -> None:
    assert not_contained_in_processes(list(ALL.values()), tmp_path) == {}


def not_contained_in_processes(chosen: list[Way], folder: Path) -> dict[str, str]:
    """Run ways in processes, and return what came of those that hurt somebody."""
    folders = [folder / way.name for way in chosen]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(measured_in_a_process, chosen, folders))
    return {
        way.name: f"{one.outcome}: {one}"
        for way, one in zip(chosen, found, strict=True)
        if not page.is_as_expected(way, one, "process")
    }


@pytest.mark.torture
def test_no_code_of_a_pack_runs_in_the_hosts_main_thread_whatever_it_does(tmp_path: Path) -> None:
    contained = [way for way in ALL.values() if way.expected is Expected.CONTAINED]
    folders = [tmp_path / way.name for way in contained]
    for folder in folders:
        folder.mkdir()

    with ThreadPoolExecutor(3) as pool:
        found = list(
            pool.map(lambda *given: harness.measure(*given, is_watched=True), contained, folders)
        )

    ran = {
        w.name: f.in_main_thread for w, f in zip(contained, found, strict=True) if f.in_main_thread
    }
    assert ran == {}


def test_there_are_a_hundred_ways_and_most_are_contained() -> None:
    contained = [way for way in ALL.values() if way.expected is Expected.CONTAINED]

    assert len(ALL) >= 100
    assert len(contained) > len(ALL) * 0.8
    assert [way.name for way in ALL.values() if not way.does.endswith(".")] == []


def test_the_page_shows_every_way_and_what_the_last_run_measured() -> None:
    threads, processes = page.kept("thread"), page.kept("process")

    assert sorted(threads) == sorted(processes) == sorted(ALL)
    assert page.PAGE.read_text() == page.text(threads, processes)


def test_security_and_readme_promise_of_processes_what_was_measured() -> None:
    kept = {name: harness.Measured(**found) for name, found in page.kept("process").items()}
    root = page.HERE.parents[1]

    assert {name for name in ALL if not page.is_contained_in_time(kept[name])} == set()
    unnamed = [
        n for n, w in ALL.items() if w.family in harness.BEFORE_OPENING and not kept[n].doctor
    ]
    assert unnamed == []
    assert f"all {len(ALL)} ways" in (root / "SECURITY.md").read_text()
    assert f"all {len(ALL)} ways" in (root / "README.md").read_text()


def test_the_readme_claims_what_the_page_shows() -> None:
    contained = [way for way in ALL.values() if way.expected is Expected.CONTAINED]
    readme = (page.HERE.parents[1] / "README.md").read_text()

    assert f"[{len(ALL)} ways to misbehave](docs/reference/containment.md)" in readme
    assert f"{len(contained)} are contained" in readme


def test_what_was_measured_is_what_is_expected() -> None:
    kept = {name: harness.Measured(**found) for name, found in page.kept("thread").items()}

    assert [name for name in kept if not page.is_as_expected(ALL[name], kept[name])] == []
    contained = [kept[name] for name in kept if ALL[name].expected is Expected.CONTAINED]
    assert [f for f in contained if f.slowest is None or f.slowest >= harness.SLOWEST] == []
