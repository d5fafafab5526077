"""The tutorial ends with the sample package, and the sample holds what it promises."""

from pathlib import Path

from docs_pages import DOCS, SAMPLES, blocks

TUTORIAL = DOCS / "tutorial" / "first-pack.md"
SAMPLE = SAMPLES / "mcp-host-weather"


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".py", ".toml") and "build" not in path.parts
    }


def test_who_follows_the_tutorial_ends_with_the_sample_package() -> None:
    written = {block.file: block.body for block in blocks(TUTORIAL) if block.file}

    assert written == files(SAMPLE)
