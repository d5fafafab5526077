"""Run one command: parse, dispatch, print, and turn every failure into its exit code."""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from types import FrameType

from .. import __version__
from ..errors import CortexError, InvalidError, NotFoundError, UnavailableError
from ..model.redaction import redact
from ..storage.config import Config, config_path, read_config
from .answer import Answer, print_error, print_json
from .parser import make_parser

INTERRUPTED = 130
ENDED = 143

FREE_TEXT = {
    "-m": "--message",
    "--message": "--message",
    "-d": "--description",
    "--description": "--description",
}

Command = Callable[[argparse.Namespace, Config], Answer]


def run(argv: list[str]) -> int:
    """Run the command line and return the exit code."""
    argv = _with_values(argv)
    as_json = "--json" in argv
    secrets: list[str] = []
    signal.signal(signal.SIGTERM, _end)
    try:
        given = make_parser().parse_args(argv)
        if given.version:
            return _version(as_json=as_json)
        if not hasattr(given, "runs"):
            if as_json:
                raise InvalidError("A command is needed.", reason="usage")
            make_parser().print_help()
            return 0
        config = read_config(config_path())
        secrets += config.secrets()
        answer = _command(given.runs)(given, config)
        if as_json:
            print_json(answer.data, secrets)
        else:
            answer.show()
    except CortexError as error:
        print_error(error, secrets, as_json=as_json)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter complains on its way out
        return 0
    except FileNotFoundError as error:
        if _has_folder():
            return _unexpected(error, secrets, as_json=as_json)
        gone = NotFoundError("The current folder does not exist any more.", reason="folder_gone")
        print_error(gone, secrets, as_json=as_json)
        return gone.exit_code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        failed = UnavailableError(f"{place}{error.strerror or error}", reason="file_system")
        print_error(failed, secrets, as_json=as_json)
        return failed.exit_code
    except Exception as error:
        return _unexpected(error, secrets, as_json=as_json)
    return 0


def _with_values(argv: list[str]) -> list[str]:
    """Join a free text to its option: argparse takes a message like `--amend` for an option."""
    joined: list[str] = []
    words = iter(argv)
    for word in words:
        option = FREE_TEXT.get(word)
        value = next(words, None) if option else None
        joined.append(word if value is None else f"{option}={value}")
    return joined


def _command(name: str) -> Command:
    module, _, function = name.partition(":")
    command: Command = getattr(import_module(f".{module}", __package__), function)
    return command


def _unexpected(error: Exception, secrets: list[str], *, as_json: bool) -> int:
    """Report a mistake of ours: what it was, and on stderr where; no secrets in either."""
    import traceback  # here, since it takes 2 ms that only a mistake has to wait for

    print(redact(traceback.format_exc(), secrets), file=sys.stderr)
    ours = CortexError(f"Unexpected {type(error).__name__}: {error}", reason="bug")
    print_error(ours, secrets, as_json=as_json)
    return ours.exit_code


def _version(*, as_json: bool) -> int:
    if as_json:
        print_json({"success": True, "version": __version__}, ())
    else:
        print(f"ctx {__version__}")
    return 0


def _has_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  a Path would ask the same
    except FileNotFoundError:
        return False
    return True


def _end(signum: int, frame: FrameType | None) -> None:
    """Leave by an exception, so that a running git is ended with its lock files."""
    raise SystemExit(ENDED)
