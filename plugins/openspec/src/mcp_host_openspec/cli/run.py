"""Run one command: parse, dispatch, and turn every failure into exit code 1."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from .arguments import parse
from .output import CommandError, complain, print_json

_REFUSED = ("workset", "feedback")
_MODULES = {"spec": "nouns", "change": "nouns", **dict.fromkeys(_REFUSED, "refused")}
"""The modules of commands that share one."""


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns its exit code."""
    options = parse(arguments)
    try:
        if getattr(options, "store", None) or getattr(options, "store_path", None):
            from .store import refusal

            raise refusal(options)
        if getattr(options, "project", None):
            os.chdir(options.project)
        code = _command(options.command)(options)
        sys.stdout.flush()  # here a full disk can be told of; at the end of the process it cannot
        return code
    except CommandError as failed:
        _report(failed, as_json=getattr(options, "json", False))
        return 1
    except PermissionError as error:
        _report(_not_permitted(error), as_json=getattr(options, "json", False))
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        _give_up_output()
        return 1
    except OSError as error:
        complain(f"Error: {error.filename or 'the output'}: {error.strerror}")
        _give_up_output()
        return 1


def _give_up_output() -> None:
    """Let what could not be written go; it would fail once more at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(name: str) -> Callable[[Namespace], int]:
    """The function of one command; only its own module is imported."""
    name = _MODULES.get(name, name)
    from importlib import import_module

    command: Callable[[Namespace], int] = import_module(f".{name}", __package__).run
    return command


def _not_permitted(error: PermissionError) -> CommandError:
    return CommandError("not_permitted", f"{error.filename}: permission denied.")


def _report(failed: CommandError, *, as_json: bool) -> None:
    if as_json:
        print_json({**failed.payload, "status": [failed.status]})
        return
    complain(f"Error: {failed.message}")
    if failed.fix:
        complain(f"Fix: {failed.fix}")
