"""The contract's calls of our packs, many of them, with other arguments each time."""

import pytest
from mcp_host.testing import check_pack


@pytest.mark.torture
@pytest.mark.parametrize(
    ("pack", "examples"), [("todo_db", 300), ("tasky", 300), ("openspec", 150), ("cortex", 15)]
)
def test_a_pack_withstands_many_arguments(pack, examples):
    found = check_pack(pack, stages=[], fuzz=examples)

    assert [one for one in found if one.severity == "error"] == []
