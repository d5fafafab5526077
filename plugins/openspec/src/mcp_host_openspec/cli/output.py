"""What a command prints, and how it fails."""

import json
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

from ..errors import OpenSpecError

Data = dict[str, Any]


class CommandError(Exception):
    """A command that ends with code 1; `payload` is what its JSON holds beside the status."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        fix: str | None = None,
        target: str | None = None,
        payload: Data | None = None,
        extra: Data | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.payload = payload or {}
        self.status: Data = {"severity": "error", "code": code, "message": message}
        if target:
            self.status["target"] = target
        if fix:
            self.status["fix"] = fix
        self.status.update(extra or {})


def failure(error: OpenSpecError, code: str, *, payload: Data | None = None) -> CommandError:
    """A domain error as a command's failure."""
    facts: Data = {
        key: error.details[key] for key in ("losses", "findings") if key in error.details
    }
    return CommandError(
        code,
        str(error),
        fix=" ".join(error.suggestions) or None,
        payload=payload,
        extra=facts,
    )


def print_json(data: Data | Sequence[Data]) -> None:
    """Print one JSON document, indented as the reference tool does."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


def say(*lines: str) -> None:
    """Print to stdout, for people."""
    for line in lines:
        print(_plain(line))


def complain(*lines: str) -> None:
    """Print to stderr."""
    for line in lines:
        print(_plain(line), file=sys.stderr)


def agreed(question: str) -> bool:
    """Ask a person for a yes; CommandError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise CommandError("not_confirmed", f"{question} Say so with --yes where nobody is asked.")
    return input(f"{question} (y/N) ").strip().lower() in ("y", "yes")


def _plain(text: str) -> str:
    """A text as a terminal may show it: what stands in a file steers nobody's terminal."""
    return "".join(
        one if one in "\n\r\t" or unicodedata.category(one) != "Cc" else "�" for one in text
    )
