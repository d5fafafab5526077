"""Workflow schemas: which files a change is made of, and which of them hold its tasks."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..model.text import code_unit_key, decode
from .files import Files, exists, is_file

BUILT_IN: Final = "spec-driven"
_TRANSIENT: Final = re.compile(r"^\.(?:fork|init)-staging-|\.(?:fork|init)-backup-")


@dataclass(frozen=True, slots=True)
class Schema:
    """A workflow schema, as far as this pack needs it."""

    outputs: tuple[str, ...]
    """Files or patterns a change is made of."""
    tasks: str | None
    """The one of them that holds its tasks."""


SPEC_DRIVEN: Final = Schema(("proposal.md", "specs/**/*.md", "design.md", "tasks.md"), "tasks.md")


class SchemaError(ValueError):
    """A schema that is not there or not usable."""


class Schemas:
    """The schemas a project may name: built in, the user's own and the project's own."""

    def __init__(self, folders: list[Path], files: Files) -> None:
        """`folders`, first the one that wins."""
        self._folders = folders
        self._files = files

    def names(self) -> set[str]:
        """All schemas there are."""
        found = {BUILT_IN}
        for folder in self._folders:
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            found |= {
                entry.name
                for entry in entries
                if not _TRANSIENT.search(entry.name)
                and entry.is_dir()
                and (folder / entry.name / "schema.yaml").exists()
            }
        return found

    def get(self, name: str) -> Schema:
        """The schema of this name, with or without `.yaml`; SchemaError otherwise."""
        folder = self._folder(_bare(name))
        if folder is None:
            if _bare(name) == BUILT_IN:
                return SPEC_DRIVEN
            raise SchemaError(f"unknown schema '{name}'")
        try:
            return self._files.document(folder / "schema.yaml", _parse)
        except OSError as error:
            raise SchemaError(f"schema '{name}' cannot be read: {error.strerror}") from error

    def is_built_in(self, name: str) -> bool:
        """Whether the name means the built-in schema and nothing overrides it."""
        return _bare(name) == BUILT_IN and self._folder(BUILT_IN) is None

    def _folder(self, name: str) -> Path | None:
        if name in ("", ".", "..") or re.search(r"[\\/]|^[A-Za-z]:", name):
            return None
        for folder in self._folders:
            candidate = folder / name
            schema = candidate / "schema.yaml"
            if exists(schema) and schema.resolve().is_relative_to(candidate.resolve()):
                return candidate
        return None


def _bare(name: str) -> str:
    return re.sub(r"\.ya?ml$", "", name)


def _parse(data: bytes) -> Schema:
    from .yaml12 import InvalidYaml, load  # start-up time: most trees have no YAML to read

    try:
        raw = load(decode(data))
    except InvalidYaml as error:
        raise SchemaError(str(error)) from error
    artifacts = _artifacts(raw)
    apply = raw.get("apply")
    tracks = _tracks(apply, set(artifacts)) if apply is not None else None
    outputs = tuple(generates for generates, _ in artifacts.values())
    if tracks is not None:
        return Schema(outputs, tracks if tracks in outputs else None)
    return Schema(outputs, artifacts["tasks"][0] if "tasks" in artifacts else None)


def _artifacts(raw: Any) -> dict[str, tuple[str, list[str]]]:
    """What each artifact generates and requires, or SchemaError."""
    version = raw.get("version") if isinstance(raw, dict) else None
    if not (
        isinstance(raw, dict)
        and _is_text(raw.get("name"))
        and isinstance(version, int)
        and not isinstance(version, bool)
        and version > 0
        and isinstance(raw.get("description", ""), str)
        and isinstance(raw.get("artifacts"), list)
        and 0 < len(raw["artifacts"]) <= 1000
    ):
        raise SchemaError("a schema needs a name, a version and artifacts")
    found: dict[str, tuple[str, list[str]]] = {}
    for artifact in raw["artifacts"]:
        if not (
            isinstance(artifact, dict)
            and _is_text(artifact.get("id"))
            and artifact["id"] not in found
            and _is_inner_path(artifact.get("generates"))
            and isinstance(artifact.get("description"), str)
            and _is_inner_path(artifact.get("template"))
            and isinstance(artifact.get("instruction", ""), str)
            and _is_texts(artifact.get("requires", []))
        ):
            raise SchemaError("an artifact needs an id of its own, generates and template")
        found[artifact["id"]] = artifact["generates"], artifact.get("requires", [])
    _check_order(found)
    return found


def _check_order(artifacts: dict[str, tuple[str, list[str]]]) -> None:
    """Every required artifact is there, and none requires itself in the end."""
    done: set[str] = set()
    while len(done) < len(artifacts):
        ready = {id for id, (_, needs) in artifacts.items() if done.issuperset(needs)} - done
        if not ready:
            raise SchemaError("the artifacts require one that is missing, or each other")
        done |= ready


def _tracks(apply: Any, ids: set[str]) -> str | None:
    if not (
        isinstance(apply, dict)
        and _is_texts(apply.get("requires"))
        and apply["requires"]
        and ids.issuperset(apply["requires"])
        and (apply.get("tracks") is None or _is_inner_path(apply["tracks"]))
        and isinstance(apply.get("instruction", ""), str)
    ):
        raise SchemaError("apply needs the artifacts it requires")
    tracks: str | None = apply.get("tracks")
    return tracks


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_inner_path(value: object) -> bool:
    return (
        isinstance(value, str)
        and value != ""
        and not re.match(r"[A-Za-z]:|[\\/]", value)
        and ".." not in re.split(r"[\\/]+", value)
        and "\0" not in value
    )


def outputs(folder: Path, generates: str) -> list[Path]:
    """The files in a change's folder that an artifact's path or pattern means."""
    if not re.search(r"[*?\[]|\{[^}]*(?:,|\.\.)|[!@+]\(", generates):
        path = folder / generates
        return [path] if is_file(path) else []
    matches = re.compile(_glob(generates)).fullmatch
    found = {
        file.resolve()
        for file in _walk(folder, folder)
        if matches(file.relative_to(folder).as_posix())
    }
    return sorted(found, key=lambda path: code_unit_key(str(path)))


def _walk(folder: Path, top: Path) -> list[Path]:
    files: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or not entry.resolve().is_relative_to(top.resolve()):
            continue
        if entry.is_file():
            files.append(entry)
        elif entry.is_dir() and not entry.is_symlink():
            files += _walk(entry, top)
    return files


def _glob(pattern: str) -> str:
    """The regular expression of a file pattern: `**`, `*`, `?`, `[…]` and `{a,b}`."""
    translated = ""
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        if rest.startswith("**/"):
            translated, position = translated + r"(?:[^/]+/)*", position + 3
        elif rest.startswith("**"):
            translated, position = translated + r".*", position + 2
        elif rest[0] == "*":
            translated, position = translated + r"[^/]*", position + 1
        elif rest[0] == "?":
            translated, position = translated + r"[^/]", position + 1
        elif found := re.match(r"\[([!^]?)([^\]/]+)\]", rest):
            negation = "^" if found[1] else ""
            translated += f"[{negation}{found[2]}]"
            position += found.end()
        elif found := re.match(r"\{([^{}]*,[^{}]*)\}", rest):
            translated += "(?:" + "|".join(map(_glob, found[1].split(","))) + ")"
            position += found.end()
        else:
            translated, position = translated + re.escape(rest[0]), position + 1
    return translated
