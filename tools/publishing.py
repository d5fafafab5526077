"""Check and prepare a release: one version everywhere, and the public address in every wheel.

`python -m tools.publishing check v0.1.0` ends with 1 where a distribution, a bound between host and
packs or the changelog does not fit the tag. `python -m tools.publishing address OWNER/NAME` writes
the repository's address on GitHub into the metadata of every distribution and into the READMEs;
the release does so before it builds, so that a fork's wheels name the fork.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import tomlkit
from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[1]
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SERVER_NAME = re.compile(r"(<!-- mcp-name: io\.github\.)[A-Za-z0-9-]+(/mcp-host -->)")
READMES = ("README.md", "core/README.md")


def manifests(root: Path) -> list[Path]:
    """The `pyproject.toml` of every distribution, the host's first."""
    return [root / "core" / "pyproject.toml", *sorted(root.glob("plugins/*/pyproject.toml"))]


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """What does not fit a tag like `v0.1.0`, a sentence each."""
    try:
        version = Version(tag.removeprefix("v"))
    except InvalidVersion:
        yield f"the tag must be v and a version, like v0.1.0, not {tag!r}"
        return
    for manifest in manifests(root):
        project = tomllib.loads(manifest.read_text("utf-8"))["project"]
        if Version(project["version"]) != version:
            yield f"{project['name']} has the version {project['version']}, not {version}"
        for text in _between(project):
            need = Requirement(text)
            if not need.specifier.contains(version, prereleases=True):
                yield f"{project['name']} needs {text}, which {version} is not"
            if not any(clause.operator in ("<", "<=", "==", "~=") for clause in need.specifier):
                yield f"{project['name']} needs {text}, which has no upper bound"
    headings = re.findall(
        r"^## \[(.+?)\]", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    if str(version) not in headings:
        yield f"CHANGELOG.md must have a heading ## [{version}] with its date"


def name_address(repository: str, root: Path = ROOT) -> None:
    """Write a repository's address into metadata and READMEs, in place of an earlier one."""
    if not REPOSITORY.fullmatch(repository):
        raise SystemExit(f"error: the repository must be OWNER/NAME, not {repository!r}")
    owner, _, _ = repository.partition("/")
    address = f"https://github.com/{repository}"
    for manifest in manifests(root):
        document = tomlkit.parse(manifest.read_text("utf-8"))
        project = document["project"]
        urls = {
            "Homepage": address,
            "Documentation": f"{address}/tree/main/docs",
            "Changelog": f"{address}/blob/main/CHANGELOG.md",
            "Issues": f"{address}/issues",
        }
        project["urls"] = urls
        manifest.write_text(tomlkit.dumps(document), "utf-8")
    for name in READMES:
        text, found = SERVER_NAME.subn(rf"\g<1>{owner}\g<2>", (root / name).read_text("utf-8"))
        if found != 1:
            raise SystemExit(f"error: {name} must have one line <!-- mcp-name: … -->, not {found}")
        (root / name).write_text(text, "utf-8")


def _between(project: dict[str, object]) -> Iterator[str]:
    """What a distribution needs of the others of this repository."""
    needs = list(project.get("dependencies", ()))  # type: ignore[call-overload]
    for extra in project.get("optional-dependencies", {}).values():  # type: ignore[attr-defined]
        needs += extra
    yield from (need for need in needs if re.match(r"mcp-host\b", need))


def main() -> None:
    """Check a tag or name the address; end with 1 where something does not fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="does all fit this tag?").add_argument("tag")
    commands.add_parser("address", help="write OWNER/NAME").add_argument("repository")
    asked = parser.parse_args()
    if asked.command == "address":
        name_address(asked.repository)
        print(f"All wheels name {asked.repository}.")
        return
    found = list(problems(asked.tag))
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if found:
        sys.exit(1)
    print(f"All distributions are {asked.tag.removeprefix('v')}.")


if __name__ == "__main__":
    main()
