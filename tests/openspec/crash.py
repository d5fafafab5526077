"""Archive the one change of a tree, and be killed on the way: `crash.py PROJECT STEP`.

The process kills itself as it is about to make its STEP-th change to the file system, as an
audit hook sees them; nothing in the pack knows of it.
"""

import os
import signal
import sys
from pathlib import Path

from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.archive_plan import Options

WRITES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod", "shutil.rmtree"}


def main() -> None:
    project, step = Path(sys.argv[1]), int(sys.argv[2])
    openspec = OpenSpec(Root(project, "configured"))
    done = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        is_write = event in WRITES or (event == "open" and set(str(arguments[1])) & set("wxa+"))
        if not is_write:
            return
        done += 1
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    openspec.archive("grow", Options())
    print(done)


if __name__ == "__main__":
    main()
