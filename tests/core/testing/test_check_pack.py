"""What `check_pack` says beyond single mistakes."""

import sys

import pytest
from mcp_host.testing import check_pack


def test_a_pack_that_is_not_there_is_told_with_what_is_near():
    (finding,) = check_pack("tasky_")

    assert "did you mean 'tasky'?" in finding.problem
    assert finding.severity == "error"


def test_without_hypothesis_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "mcp_host.testing.contract.fuzzing", raising=False)
    monkeypatch.delitem(sys.modules, "mcp_host.testing.contract.examples", raising=False)
    monkeypatch.delattr("mcp_host.testing.contract.fuzzing", raising=False)

    with pytest.raises(ModuleNotFoundError, match=r"pip install \"mcp-host\[dev\]\""):
        check_pack("tasky", stages=[], fuzz=1)
