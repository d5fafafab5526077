"""The host's command, whose main thread notes each function of a pack that runs in it.

`python watched.py NOTES FOLDER mcp-host arguments…`: what runs of the code below FOLDER is written
to the file NOTES, a line each.
"""

import os
import sys
from types import FrameType

from mcp_host.startup.descriptors import private


def main() -> None:
    notes, folder = sys.argv[1:3]
    sys.argv[:3] = ["mcp-host"]
    low = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    out = private(low)  # some ways write to all low ones
    os.close(low)
    place = f"{folder}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(place):
            os.write(out, f"{code.co_filename}:{frame.f_lineno} {code.co_name}\n".encode())

    from mcp_host.__main__ import main as command

    sys.setprofile(note)
    command()


if __name__ == "__main__":
    main()
