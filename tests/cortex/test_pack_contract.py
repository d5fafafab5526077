"""The contract that every pack holds."""

from mcp_host.testing import PackContract


class TestContract(PackContract):
    pack = "cortex"
    fuzz_examples = 1  # each call starts a program
