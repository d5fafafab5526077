"""Make the picture of a terminal at the top of the README from the real demo: `make picture`.

The demo runs in a pseudo-terminal as it does for a person; rich draws what it wrote. The picture
loads nothing from anywhere: it names the fonts that a reader has.
"""

import argparse
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "demo.svg"
PACK = "tasky"
COLUMNS = 108
BEGINS = "What can be begun now?"
ENDS = "What became free"
ANSWER_LINES = 6
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def demo() -> str:
    """What `mcp-host demo` writes to a terminal, colours included."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    command = [sys.executable, "-m", "mcp_host", "demo", PACK]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(theirs)
        written = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"error: the demo ended with {process.returncode}")
    return written.decode().replace("\r\n", "\n")


def part(text: str) -> list[str]:
    """The lines to show: the command as a person types it, who connected, and one scene.

    Of an answer the first lines are kept, and `…` stands for the others.
    """
    lines = text.splitlines()
    begin, end = (
        next(number for number, line in enumerate(lines) if plain(line).startswith(words))
        for words in (BEGINS, ENDS)
    )
    kept = [f"\x1b[1m$ mcp-host demo {PACK}\x1b[0m", *lines[1:4], ""]
    answered = 0
    for line in lines[begin : end - 1]:
        answered = answered + 1 if plain(line).startswith("  ") else 0
        if answered <= ANSWER_LINES:
            kept.append(line)
        elif answered == ANSWER_LINES + 1:
            kept.append("  \x1b[2m…\x1b[0m")
    return kept


def plain(line: str) -> str:
    """A line without its colours."""
    return ESCAPES.sub("", line)


def drawn(lines: list[str]) -> str:
    """A terminal that shows the lines, as SVG."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text.from_ansi("\n".join(lines)))
    svg = console.export_svg(title="mcp-host", theme=MONOKAI, unique_id="demo")
    svg = FONT_FACES.sub("", svg).replace("Fira Code, monospace", FONTS)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux's end of a terminal whose other side has gone
        return b""


def main() -> None:
    """Draw the demo into the picture of the README."""
    parser = argparse.ArgumentParser(description="Draw the README's picture from the demo.")
    parser.add_argument("--out", type=Path, default=PICTURE)
    out = parser.parse_args().out
    out.write_text(drawn(part(demo())), "utf-8")
    print(f"Drew {out}.")


if __name__ == "__main__":
    main()
