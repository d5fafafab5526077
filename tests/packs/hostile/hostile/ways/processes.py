"""What a pack does with processes: forks, programs, ends."""

import os
import signal
import subprocess
import sys
import time

from hostile.registry import ENDS, at_import, in_call

LONG = 60


def _live_on() -> None:
    time.sleep(LONG)
    os._exit(0)


@at_import()
def fork_while_imported() -> None:
    """Forks while it is imported; the fork lives on."""
    if os.fork() == 0:
        _live_on()


@in_call()
def return_twice() -> str:
    """Forks in a call; the fork returns from it as well."""
    return "child" if os.fork() == 0 else "parent"


@in_call()
def fork() -> str:
    """Forks in a call; the fork lives on."""
    if os.fork() == 0:
        _live_on()
    return "done"


@in_call()
def fork_twice() -> str:
    """Leaves a fork of a fork that has a session of its own, and lives on."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _live_on()
        os._exit(0)
    return "done"


@in_call()
def fork_and_write() -> str:
    """Has a fork that writes to every descriptor that it finds."""
    if os.fork() == 0:
        for descriptor in range(3, 5000):
            try:
                os.write(descriptor, b"not the protocol\n")
            except OSError:
                continue
        _live_on()
    return "done"


@in_call()
def leave_a_program() -> str:
    """Starts a program that lives on, with every descriptor of the process."""
    subprocess.Popen(["sleep", str(LONG)], close_fds=False)
    return "done"


@at_import()
def leave_a_program_while_imported() -> None:
    """Starts a program while it is imported, which lives on."""
    subprocess.Popen(["sleep", str(LONG)], close_fds=False)


@in_call()
def wait_for_a_program() -> None:
    """Waits for a program that never ends and does not listen to signals."""
    code = f"import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep({LONG})"
    subprocess.run([sys.executable, "-S", "-c", code])


@in_call()
def print_from_programs() -> str:
    """Has programs print to what they were given as standard output."""
    for _ in range(3):
        subprocess.run(["echo", "not the protocol"])
    return "done"


@in_call()
def take_in_children() -> str:
    """Waits for every child of the process, and for those of others."""
    try:
        while True:
            os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return "done"


@in_call(ENDS)
def exit_at_once() -> None:
    """Calls `os._exit`."""
    os._exit(7)


@in_call(ENDS)
def abort() -> None:
    """Calls `os.abort`."""
    os.abort()


@in_call(ENDS)
def kill() -> None:
    """Kills its own process."""
    os.kill(os.getpid(), signal.SIGKILL)


@in_call(ENDS)
def replace_the_process() -> None:
    """Replaces the process by another program."""
    os.execv("/bin/true", ["true"])


@in_call(ENDS)
def take_all_memory() -> None:
    """Asks for more memory than there is, page by page, until the system ends the process."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))  # stands for it, and spares the machine
    while True:
        pass
