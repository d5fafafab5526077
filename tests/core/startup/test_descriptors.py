"""Descriptors of our own: no fork has them, and a fork keeps what got their number since."""

import os
import subprocess
import sys

import pytest

FORKS = """
import os
from mcp_host.startup.descriptors import private

kept, given_up = private(1), private(1)
os.close(given_up)
theirs, _ = os.pipe()
os.dup2(theirs, given_up)
child = os.fork()
if child == 0:
    found = [number for number in (kept, given_up) if os.path.exists(f"/dev/fd/{number}")]
    os._exit(0 if found == [given_up] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_fork_has_none_of_ours_and_all_of_the_packs() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("0\n", "")
