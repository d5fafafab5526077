"""What a command answers: data for programs, words for people."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..errors import CortexError
from ..model.redaction import redact_all


@dataclass(frozen=True, slots=True)
class Answer:
    """`data` is printed under `--json`, else `show` prints it for people."""

    data: Mapping[str, object]
    show: Callable[[], None]


def say(*lines: str) -> Callable[[], None]:
    """Return what prints these lines."""

    def show() -> None:
        for line in lines:
            print(plain(line))

    return show


def print_json(data: Mapping[str, object], secrets: Iterable[str]) -> None:
    """Print one JSON object in ASCII: no locale or terminal can break it."""
    text = json.dumps(data)
    if "\\ud" in text:  # perhaps half a character: a file's name need not be UTF-8
        whole = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
        text = json.dumps(json.loads(whole))
    for secret in secrets:
        if len(secret) >= 8:  # a shorter one would hit numbers and words
            text = text.replace(json.dumps(secret)[1:-1], "***")
    print(text, flush=True)


def print_error(error: CortexError, secrets: Iterable[str], *, as_json: bool) -> None:
    """Print an error: JSON on stdout under `--json`, else for people on stderr."""
    data = {
        "success": False,
        "error": error.message,
        "code": error.code,
        "retryable": error.retryable,
        "suggestions": error.suggestions,
        "details": error.details,
    }
    data = {key: redact_all(value, secrets) for key, value in data.items()}
    if as_json:
        print_json(data, secrets)
        return
    print(plain(f"Error: {data['error']}"), file=sys.stderr)
    for suggestion in error.suggestions:
        print(plain(f"  {redact_all(suggestion, secrets)}"), file=sys.stderr)


def plain(text: str) -> str:
    """Return a text that cannot steer a terminal, and that any terminal can show."""
    safe = "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )
    encoding = sys.stdout.encoding or "utf-8"
    return safe.encode(encoding, "replace").decode(encoding)
