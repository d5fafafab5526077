"""The contract that every pack holds."""

from mcp_host.testing import PackContract


class TestContract(PackContract):
    pack = "openspec"
