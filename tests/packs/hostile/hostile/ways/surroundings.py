"""What a pack does to what every part of a process shares: folder, environment, locale, limits."""

import decimal
import locale
import os
import random
import resource
import shutil
import socket
import tempfile
import time

from hostile.registry import CHANGES, at_import, in_call

KEPT: list[object] = []


@in_call()
def folder_is_changed() -> str:
    """Changes the working folder."""
    os.chdir("/")
    return "done"


@at_import()
def folder_is_removed() -> None:
    """Changes to a working folder that it then removes."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    shutil.rmtree(folder)


@in_call()
def umask_is_changed() -> str:
    """Has every new file be one that nobody may read."""
    os.umask(0o777)
    return "done"


@at_import()
def environment_is_emptied() -> None:
    """Empties the environment."""
    os.environ.clear()


@at_import()
def locale_is_changed() -> None:
    """Sets the locale to "C", and the time zone to one that there is not."""
    locale.setlocale(locale.LC_ALL, "C")
    os.environ["TZ"] = "Nowhere/Nowhere"
    time.tzset()


@in_call()
def priority_is_lowered() -> str:
    """Lowers the priority of the process as far as it goes."""
    os.nice(19)
    return "done"


@in_call()
def sockets_time_out() -> str:
    """Has every new socket time out after a millisecond."""
    socket.setdefaulttimeout(0.001)
    return "done"


@in_call()
def ports_are_taken() -> str:
    """Listens on 200 ports."""
    for _ in range(200):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        KEPT.append(listener)
    return "done"


@in_call()
def files_are_left() -> str:
    """Leaves 500 temporary files open."""
    KEPT.extend(tempfile.mkstemp() for _ in range(500))
    return "done"


@in_call()
def numbers_are_shaken() -> str:
    """Seeds the common random numbers, and has decimals keep one digit and raise."""
    random.seed(1)
    decimal.getcontext().prec = 1
    decimal.DefaultContext.traps[decimal.Inexact] = True
    return "done"


@in_call()
def memory_is_taken() -> str:
    """Keeps 200 MB for good."""
    KEPT.append(bytearray(200_000_000))
    return "done"


@in_call()
def objects_are_many() -> str:
    """Keeps three million small objects for good."""
    KEPT.append([[number] for number in range(3_000_000)])
    return "done"


@in_call(CHANGES)
def memory_is_denied() -> str:
    """Allows the process no more memory than it has."""
    resource.setrlimit(resource.RLIMIT_AS, (50_000_000, 50_000_000))
    return "done"


@in_call()
def files_are_limited() -> str:
    """Allows the process no file longer than a byte."""
    import signal

    signal.SIGXFSZ  # noqa: B018 - Python ignores it
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    return "done"


@in_call()
def arguments_are_changed() -> str:
    """Empties `sys.argv` and makes another program of `sys.executable`."""
    import sys

    sys.argv.clear()
    sys.executable = "/bin/false"
    return "done"
