"""The ctx that the pack runs; apart from the settings, since lists do without `shutil`."""

import sys
from pathlib import Path
from shutil import which

from .settings import CortexSettings


def program(settings: CortexSettings) -> tuple[str, ...]:
    """The program to run: `ctx` is the one installed beside this Python, else on the PATH."""
    command = settings.command
    given = (command,) if isinstance(command, str) else command
    beside = which(given[0], path=str(Path(sys.executable).parent))
    if given[0] == "ctx" and beside:
        return (beside, *given[1:])
    return given
