"""The pack and the reference tool agree."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_host_openspec.model.collation import collation_key

ORACLE = Path(__file__).with_name("oracle.py")


def test_the_pack_agrees_with_the_reference_tool_on_a_sample_of_the_recorded_answers() -> None:
    """Differences are only those that are documented; `make oracle` compares all of them."""
    command = [sys.executable, str(ORACLE), "--quiet", "--one-in", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "no shared test data" in done.stderr:
        pytest.skip(done.stderr.strip())
    last = done.stdout.splitlines()[-1]
    found = re.fullmatch(r"oracle: (\d+) of (\d+) agree, (\d+) deliberate", last)
    assert found, last
    agree, total, deliberate = map(int, found.groups())
    assert agree + deliberate == total > 1000, done.stdout[-3000:]
    assert deliberate <= 0.03 * total
    assert done.returncode == 0


def test_names_are_listed_in_the_reference_tools_order() -> None:
    """As it sorted these: punctuation, digits, letters; then accents; case comes last."""
    # fmt: off
    listed = [
        "1x", "2", "a b", "a_b", "a-b", "a-B", "A-b", "a.b", "a1", "ab", "aB", "Ab", "áb", "äb",
        "aeb", "æb", "b", "db", "đb", "e", "løb", "z", "þ", "я", "あ", "ア", "日",
    ]
    # fmt: on
    mixed = random.Random(1).sample(listed, len(listed))
    assert sorted(mixed, key=collation_key) == listed
