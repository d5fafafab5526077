"""What a pack does with signals."""

import faulthandler
import os
import signal
import threading
import time

from hostile.registry import ENDS, at_import, in_call


@at_import()
def handled_in_its_thread() -> None:
    """Sets a handler of SIGINT and SIGTERM while it is imported."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@in_call()
def blocked() -> str:
    """Blocks every signal in its thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return "done"


@in_call()
def sent_often() -> str:
    """Sends SIGCHLD, SIGWINCH and SIGURG to its own process 5,000 times."""
    for _ in range(5_000):
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGURG):
            os.kill(os.getpid(), number)
    return "done"


@in_call(ENDS)
def interrupting_the_main_thread() -> str:
    """Has the main thread interrupted, as by a key."""
    import _thread

    _thread.interrupt_main()
    return "done"


@in_call()
def silencing_the_fault_handler() -> str:
    """Turns `faulthandler` off."""
    faulthandler.disable()
    faulthandler.cancel_dump_traceback_later()
    return "done"


@in_call(ENDS)
def terminating() -> str:
    """Sends SIGTERM to its own process."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(1)
    return "done"


@in_call(ENDS)
def hanging_up() -> str:
    """Sends SIGHUP to its own process."""
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(1)
    return "done"


@at_import(ENDS)
def set_for_later() -> None:
    """Has the system send SIGALRM in half a second."""
    signal.setitimer(signal.ITIMER_REAL, 0.5)


@in_call(ENDS)
def segmentation_fault() -> None:
    """Sends SIGSEGV to its own process, from a thread."""
    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGSEGV)).start()
    time.sleep(1)
