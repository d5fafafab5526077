"""How a server ends when serving itself fails."""

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Machine

TEARING = """
import sys
from mcp_host.serving import transports
from mcp_host.serving.transports.transport import Transport

class Tearing(Transport):
    described = "over a line that tears"
    def load(self): pass
    async def serve(self, host, adapter, stopping):
        raise ConnectionError("the line tore")

transports.TRANSPORTS["stdio"] = Tearing
from mcp_host.cli.serve import main
main(sys.argv[1:])
"""


def test_a_transport_that_fails_is_a_traceback_and_exit_code_1(machine: "Machine") -> None:
    machine.settings("[packs.sample]\n")

    done = subprocess.run(
        [sys.executable, "-c", TEARING, "--config", str(machine.config)],
        env=machine.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ConnectionError: the line tore" in done.stderr
