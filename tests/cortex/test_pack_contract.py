"""The contract that every pack holds."""

import pytest
from mcp_host.testing import PackContract


class TestContract(PackContract):
    pack = "cortex"
    fuzz_examples = 1  # each call starts a program


@pytest.mark.torture
class TestManyArguments(PackContract):
    pack = "cortex"
    fuzz_examples = 15
