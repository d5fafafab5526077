"""The rules stand in one registry, and the documentation is made from it."""

import subprocess
import sys
from pathlib import Path

import pytest
from mcp_host_openspec.service.rules.table import RULES, table, with_table

PAGE = Path(__file__).parents[2] / "docs/how-to/openspec.md"


def test_the_table_of_rules_in_the_documentation_is_what_the_rules_say(tmp_path: Path) -> None:
    copy = tmp_path / "openspec.md"
    copy.write_text(PAGE.read_text("utf-8"), "utf-8")
    subprocess.run(
        [sys.executable, "-m", "mcp_host_openspec.service.rules.table", str(copy)], check=True
    )

    assert copy.read_text("utf-8") == PAGE.read_text("utf-8")
    assert all(f"\n| {rule.number} | {rule.level[0]} |" in table() for rule in RULES)


def test_every_rule_has_a_number_of_its_own_and_none_is_left_out() -> None:
    numbers = [rule.number for rule in RULES]

    assert len(set(numbers)) == len(numbers)
    assert set(numbers) == {
        *(f"S{number}" for number in range(1, 15)),
        *(f"C{number}" for number in range(1, 22)),
        *("A1", "A2", "F0"),
    }


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="rules: begin"):
        with_table("# A page\n")
