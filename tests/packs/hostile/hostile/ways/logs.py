"""What a pack does with logging and with what is printed."""

import io
import logging
import logging.config
import sys
import threading
import time
import warnings

from hostile.registry import at_import, in_call


@at_import()
def disabled() -> None:
    """Disables every logger, then fails."""
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": True})
    logging.disable(logging.CRITICAL)
    raise RuntimeError("only the log could have told")


class Hanging(logging.Handler):
    """Waits for ever with each line."""

    def emit(self, record: logging.LogRecord) -> None:
        threading.Event().wait()


@in_call()
def handled_by_one_that_hangs() -> None:
    """Adds a handler to the root logger that waits for ever, then fails."""
    logging.getLogger().addHandler(Hanging())
    for name in list(logging.getLogger().manager.loggerDict):
        logging.getLogger(name).addHandler(Hanging())
    raise RuntimeError("only the log could have told")


@in_call()
def locked() -> str:
    """Takes the lock of `logging` and of all its handlers, and never gives them back."""
    locks = [handler.lock for handler in logging.getLogger().handlers if handler.lock]

    def hold() -> None:
        for lock in (logging._lock, *locks):  # type: ignore[attr-defined]
            lock.acquire()
        threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    return "done"


@in_call()
def made_of_code() -> None:
    """Replaces the factory of log records, the class of loggers and every filter, then fails."""
    logging.setLogRecordFactory(lambda *given, **named: time.sleep(20))  # type: ignore[arg-type]
    logging.setLoggerClass(type("Mine", (logging.Logger,), {"handle": lambda *given: None}))
    logging.getLogger("mcp_host").addFilter(lambda record: bool(time.sleep(20)))
    raise RuntimeError("only the log could have told")


@in_call()
def given_what_has_no_text() -> str:
    """Logs objects whose text raises or takes 20 s."""

    class Slow:
        def __str__(self) -> str:
            time.sleep(20)
            return "slow"

    threading.Thread(target=logging.getLogger("hostile").error, args=(Slow(),)).start()
    return "done"


@at_import()
def closed() -> None:
    """Closes `sys.stderr` and `sys.stdout`, then fails."""
    sys.stderr.close()
    sys.stdout.close()
    raise RuntimeError("only the log could have told")


class Refusing(io.StringIO):
    """Raises whatever is written."""

    def write(self, text: str) -> int:
        raise KeyboardInterrupt

    flush = write  # type: ignore[assignment]


@in_call()
def replaced() -> str:
    """Puts streams that raise in the place of `sys.stdout` and `sys.stderr`."""
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Refusing()
    return "done"


@in_call()
def full_of_control_characters() -> str:
    """Prints and logs what would clear a terminal and forge lines of the log."""
    text = "\x1b[2J\x1b]0;mine\x07\r\n12:00:00.000 WARNING pack neighbour is failed: forged"
    print(text)
    logging.getLogger("hostile").warning(text)
    return "done"


@at_import()
def warned_of_as_errors() -> None:
    """Has every warning raise."""
    warnings.simplefilter("error")
    warnings.showwarning = lambda *given, **named: time.sleep(20)  # type: ignore[assignment]
