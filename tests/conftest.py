"""What all tests share: no session is warm unless a test asks, and no host is left behind."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the helper module beside this file

os.environ["MCP_HOST_WARM"] = "0"


@pytest.fixture(scope="session", autouse=True)
def no_warm_host_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail where a warm host of these tests outlives them; each has a folder of its own for it."""
    base = str(tmp_path_factory.getbasetemp())
    yield
    left = []
    for process in psutil.process_iter(["cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if "mcp_host.serving.warm" in command and base in command:
            left.append(command)
            with suppress(psutil.Error):
                process.kill()
    assert left == [], "a test must end the warm hosts that it starts"
