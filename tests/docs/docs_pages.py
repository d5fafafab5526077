"""The pages as the tests read them: code blocks, headings and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SAMPLES = DOCS / "samples"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    ROOT / "core" / "README.md",
    *sorted((ROOT / "plugins").glob("*/README.md")),
    *sorted(page for page in DOCS.rglob("*.md") if SAMPLES not in page.parents),
]
FENCE = re.compile(r"^( *)```(\w*)\s*$")
NOTE = re.compile(r"<!-- (.*?) -->")
NAMED = re.compile(r"^(?:#|//) ([\w./-]+\.[a-z]+)$")
HEADING = re.compile(r"^(#+) (.*?)\s*$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the note in the comment before it."""

    page: Path
    line: int
    language: str
    text: str
    note: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The file that the first line names."""
        found = NAMED.match(self.text.partition("\n")[0])
        return found.group(1) if found else None

    @property
    def body(self) -> str:
        """The text without the line that names the file."""
        return self.text.partition("\n")[2].lstrip("\n") if self.file else self.text


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    language: str | None = None
    start, note, indent = 0, "", 0
    lines: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if language is None and fence:
            indent, language, start, lines = len(fence[1]), fence[2], number, []
        elif language is not None and fence and not fence[2]:
            yield Block(page, start, language, "\n".join(lines) + "\n", note)
            language, note = None, ""
        elif language is not None:
            lines.append(line[indent:])
        elif line.strip():
            found = NOTE.fullmatch(line.strip())
            note = found.group(1) if found else ""


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    inside, kept = False, []
    for line in page.read_text("utf-8").splitlines():
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def headings(page: Path) -> list[str]:
    return [found[2] for line in prose(page).splitlines() if (found := HEADING.match(line))]


def sections(page: Path, level: int = 2) -> dict[str, str]:
    """The text below each heading of a level, blocks included; backticks off the headings."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    inside = False
    for line in page.read_text("utf-8").splitlines():
        inside ^= bool(FENCE.match(line))
        found = None if inside else HEADING.match(line)
        if found and len(found[1]) <= level:
            current = []
            if len(found[1]) == level:
                parts[found[2].replace("`", "")] = current
        else:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in parts.items()}


def anchors(page: Path) -> set[str]:
    """The anchors that headings get on the web; a second one of a name gets a number."""
    found: set[str] = set()
    for heading in headings(page):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", other))
        found.add(f"{name}-{number}" if number else name)
    return found


def links(page: Path) -> Iterator[str]:
    """The targets of the page's links, those of other sites left out."""
    for target in LINK.findall(prose(page)):
        if "://" not in target and not target.startswith("mailto:"):
            yield target
