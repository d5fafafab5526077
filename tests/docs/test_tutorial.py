"""The tutorial ends with the sample package; the README's pack is as short as it says."""

from pathlib import Path

from docs_pages import DOCS, ROOT, SAMPLES, blocks

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


def test_the_pack_of_the_readme_has_no_more_lines_than_its_heading_says() -> None:
    (pack,) = (block.body for block in blocks(ROOT / "README.md") if block.language == "python")

    assert "## A pack in 20 lines" in (ROOT / "README.md").read_text("utf-8")
    assert len(pack.splitlines()) <= 20
