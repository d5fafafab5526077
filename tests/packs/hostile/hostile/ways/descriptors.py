"""What a pack does with descriptors that it has not opened."""

import contextlib
import ctypes
import os
import resource
from pathlib import Path

from hostile.registry import CHANGES, at_import, in_call

KEPT: list[object] = []


@at_import()
def replace_the_standard_ones() -> None:
    """Puts /dev/null in the place of descriptors 0, 1 and 2."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


@in_call()
def close_the_standard_ones() -> str:
    """Closes descriptors 0, 1 and 2, and opens files in their place."""
    for descriptor in (0, 1, 2):
        os.close(descriptor)
        KEPT.append(os.open(os.devnull, os.O_RDWR))
    return "done"


@at_import()
def write_to_low_ones() -> None:
    """Writes to every descriptor from 3 to 255."""
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.set_blocking(descriptor, False)
            os.write(descriptor, b"not the protocol\n")


@in_call(CHANGES)
def read_from_low_ones() -> str:
    """Reads from every descriptor from 3 to 63 what others wait for."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            if not os.get_blocking(descriptor):
                os.read(descriptor, 65536)
    return "done"


@in_call()
def take_all() -> str:
    """Opens files until no more can be opened."""
    with contextlib.suppress(OSError):
        while True:
            KEPT.append(os.open(os.devnull, os.O_RDONLY))
    return "done"


@at_import()
def take_all_while_imported() -> None:
    """Opens files until no more can be opened, while it is imported."""
    take_all()


@in_call()
def lower_the_limit() -> str:
    """Allows the process no more than 32 descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, most))
    return "done"


@in_call()
def do_not_wait() -> str:
    """Has descriptors 0, 1 and 2 not wait any more."""
    for descriptor in (0, 1, 2):
        os.set_blocking(descriptor, False)
    return "done"


@in_call()
def print_around_python() -> str:
    """Prints by C, by a shell and by /dev/stdout."""
    ctypes.CDLL(None).puts(b"by C")
    ctypes.CDLL(None).fflush(None)
    os.system("echo by a shell")
    Path("/dev/stdout").write_text("by /dev/stdout\n")
    return "done"


@in_call(CHANGES)
def close_all() -> str:
    """Closes every descriptor from 3 to 5,000, the host's own too."""
    os.closerange(3, 5000)
    return "done"
