"""The packs in docs/samples that stand alone pass their own tests, as an author's do."""

import subprocess
import sys

import pytest
from docs_pages import SAMPLES

PACKS = ("mcp-host-exchange", "mcp-host-notes", "mcp-host-packing")
QUICK = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]


def passes(pack: str, *options: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *QUICK, *options],
        cwd=SAMPLES / pack,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.acceptance
@pytest.mark.parametrize("pack", PACKS)
def test_a_sample_passes_its_own_tests(pack: str) -> None:
    passes(pack, "-k", "not TestContract")


@pytest.mark.torture
@pytest.mark.parametrize("pack", PACKS)
def test_a_sample_holds_the_contract(pack: str) -> None:
    passes(pack, "-k", "TestContract")
