import pytest

pytest_plugins = ["mcp_host.testing.fixtures"]


@pytest.fixture
def anyio_backend():
    return "asyncio"
