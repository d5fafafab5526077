"""Build the documentation site from `docs/` and the pages beside it: `make site`.

The pages stay Markdown that reads well where it lies. They are copied as they are placed, so that
their links to each other hold, and Sphinx makes the site of the copy; a link that leads nowhere, or
to a heading that does not exist, ends the build. Beside each page of the site lies its Markdown,
and `llms.txt` tells models of them.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "site"
BESIDE = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")
LEFT_OUT = "samples"
INDEX = "docs/README.md"
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)\s#]+)\)(?P<rest>.*)$")
SUMMARY = (
    "One MCP server that serves packs: installed Python packages with tools, resources and prompts."
)
CONF = '''\
"""Made by tools/site.py."""

project = "mcp-host"
author = "The mcp-host authors"
html_title = "mcp-host"
root_doc = "README"
extensions = ["myst_parser"]
myst_heading_anchors = 6
myst_links_external_new_tab = False
nitpicky = True
exclude_patterns = ["conf.py"]
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
'''
CSS = """\
img[src$=".svg"] { width: 100%; height: auto; }
table { display: block; overflow-x: auto; }
"""


class SiteError(Exception):
    """The site cannot be built as the pages are; the message says what to mend."""


def build(target: Path, repository: str | None) -> int:
    """Build the site into a folder, and tell how many pages it has.

    With `repository`, as OWNER/NAME on GitHub, links to files that are no pages lead there;
    without, they become text.
    """
    source = BUILD / "source"
    for folder in (source, target):
        shutil.rmtree(folder, ignore_errors=True)
    pages = stage(source, repository)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(BUILD / "doctrees"), str(source), str(target)]
    if subprocess.run(command, check=False).returncode:
        raise SiteError("the pages must build without a warning; the lines above name them")
    shutil.copy2(target / "README.html", target / "index.html")
    for page in pages:
        shutil.copy2(ROOT / page, target / page)
    (target / "llms.txt").write_text(for_models(), "utf-8")
    if wrong := list(broken(target)):
        raise SiteError("\n".join(("every link must lead somewhere; these do not:", *wrong)))
    return len(pages)


def stage(source: Path, repository: str | None) -> list[str]:
    """Copy the pages, their pictures and what Sphinx needs; the paths of the pages come back."""
    docs = ROOT / "docs"
    found = [*BESIDE, *(str(path.relative_to(ROOT)) for path in sorted(docs.rglob("*.md")))]
    pages = [page for page in found if LEFT_OUT not in PurePosixPath(page).parts]
    for page in pages:
        text = _with_links(page, pages, (ROOT / page).read_text("utf-8"), repository)
        if page == "README.md":
            text += contents()
        _write(source / page, text)
    for picture in sorted(docs.rglob("*.svg")):
        _write(source / picture.relative_to(ROOT), picture.read_text("utf-8"))
    _write(source / "conf.py", CONF)
    _write(source / "static" / "site.css", CSS)
    return pages


def contents() -> str:
    """The tables of contents for the side of each page, from the index of the documentation."""
    blocks = ["```{toctree}\n:hidden:\n\n" + INDEX.removesuffix(".md") + "\n```"]
    for part, entries in _index().items():
        names = "\n".join(target.removesuffix(".md") for _, target, _ in entries)
        blocks.append(f"```{{toctree}}\n:hidden:\n:caption: {part}\n\n{names}\n```")
    beside = "\n".join(name.removesuffix(".md") for name in BESIDE[2:])
    blocks.append(f"```{{toctree}}\n:hidden:\n:caption: The project\n\n{beside}\n```")
    return "\n" + "\n\n".join(blocks) + "\n"


def for_models() -> str:
    """The text of `llms.txt`: what there is to read, as links to Markdown."""
    lines = ["# mcp-host", "", f"> {SUMMARY}"]
    for part, entries in _index().items():
        lines += ["", f"## {part}", ""]
        lines += [f"- [{title}]({target}){rest}" for title, target, rest in entries]
    lines += ["", "## Optional", "", "- [What changed](CHANGELOG.md)"]
    return "\n".join(lines) + "\n"


def broken(site: Path) -> Iterator[str]:
    """What is wrong with the links of a built site: targets that are missing, files from afar."""
    pages = {path: _Page.of(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: {address} is loaded from afar" for address in page.loaded)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = path if not parts.path else path.parent / unquote(parts.path)
            there = Path(os.path.normpath(there))
            anchors = pages[there].anchors if there in pages else None
            if not there.exists():
                yield f"{name}: {link} is not there"
            elif parts.fragment and anchors is not None and unquote(parts.fragment) not in anchors:
                yield f"{name}: {link} has no such heading"


class _Page(HTMLParser):
    """The links, the anchors and the foreign files of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}
        self.loaded: set[str] = set()

    @classmethod
    def of(cls, path: Path) -> "_Page":
        page = cls()
        page.feed(path.read_text("utf-8"))
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for address in (given.get("src"), given.get("href")):
            if not address:
                continue
            if tag in ("script", "img", "link") and urlsplit(address).netloc:
                self.loaded.add(address)
            self.links.add(address)


def _index() -> dict[str, list[tuple[str, str, str]]]:
    """The parts of the documentation's index, each with the title, path and rest of its entries."""
    parts: dict[str, list[tuple[str, str, str]]] = {}
    entries: list[tuple[str, str, str]] = []
    for line in (ROOT / INDEX).read_text("utf-8").splitlines():
        if line.startswith("## "):
            entries = parts.setdefault(line.removeprefix("## "), [])
        elif found := ENTRY.match(line):
            target = os.path.normpath(PurePosixPath(INDEX).parent / found["target"])
            entries.append((found["title"], target, found["rest"]))
    return parts


def _with_links(page: str, pages: list[str], text: str, repository: str | None) -> str:
    """A page whose links to files that are no pages lead to the repository, or are text."""

    def changed(found: re.Match[str]) -> str:
        title, target = found.groups()
        path = os.path.normpath(PurePosixPath(page).parent / target.partition("#")[0])
        if urlsplit(target).scheme or target.startswith("#") or path in pages:
            return found[0]
        if not (ROOT / path).exists():
            raise SiteError(f"{page}: {target} is not there")
        return (
            f"[{title}](https://github.com/{repository}/blob/main/{path})" if repository else title
        )

    return LINK.sub(changed, text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> None:
    """Build the site; end with 1 where it cannot be."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=BUILD / "html", help="the site's folder")
    parser.add_argument("--repository", help="OWNER/NAME on GitHub, for links to sources")
    asked = parser.parse_args()
    try:
        pages = build(asked.out.absolute(), asked.repository)
    except SiteError as error:
        sys.exit(f"error: {error}")
    print(f"{pages} pages and llms.txt in {asked.out}; every link leads somewhere.")


if __name__ == "__main__":
    main()
