"""Workflow schemas: which files a change is made of, and which of them hold its tasks."""

import os
import posixpath
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ..errors import BadFileError, InvalidYamlError, SchemaError
from ..model.collation import collation_key
from ..model.text import code_unit_key, decode
from .files import Files, exists, is_file
from .plain_yaml import load

BUILT_IN: Final = "spec-driven"
_MOST_ARTIFACTS: Final = 1000
_TRANSIENT: Final = re.compile(r"^\.(?:fork|init)-staging-|\.(?:fork|init)-backup-")


Origin = Literal["project", "user", "package"]


class Artifact(NamedTuple):
    """One thing that a change is made of."""

    id: str
    generates: str
    """A file, or a pattern of files, in the change's folder."""
    description: str
    template: str
    """A file in the schema's templates/."""
    instruction: str | None
    requires: tuple[str, ...]
    """The artifacts that come before it."""

    @property
    def is_spec(self) -> bool:
        """Whether it is written below specs/."""
        return posixpath.normpath(self.generates.replace("\\", "/")).startswith("specs/")


class Apply(NamedTuple):
    """What carrying out a change needs."""

    requires: tuple[str, ...]
    tracks: str | None
    """The file, or the pattern of files, that holds its tasks."""
    instruction: str | None


class Schema(NamedTuple):
    """A workflow schema: the artifacts of a change, and in which order they come."""

    name: str
    description: str
    artifacts: tuple[Artifact, ...]
    apply: Apply | None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Files or patterns a change is made of."""
        return tuple(artifact.generates for artifact in self.artifacts)

    @property
    def tasks(self) -> str | None:
        """The one of them that holds its tasks."""
        if self.apply is not None and self.apply.tracks is not None:
            return self.apply.tracks if self.apply.tracks in self.outputs else None
        return next((one.generates for one in self.artifacts if one.id == "tasks"), None)

    def artifact(self, name: str) -> Artifact | None:
        """The artifact of this id."""
        return next((one for one in self.artifacts if one.id == name), None)

    def order(self) -> tuple[Artifact, ...]:
        """The artifacts so that each comes after those it requires, else as they are declared."""
        waiting, done, order = list(self.artifacts), set[str](), list[Artifact]()
        while waiting:
            ready = next(one for one in waiting if done.issuperset(one.requires))
            waiting.remove(ready)
            done.add(ready.id)
            order.append(ready)
        return tuple(order)


class SchemaPlace(NamedTuple):
    """A schema with where it was found."""

    name: str
    """That of its folder."""
    folder: Path
    origin: Origin
    schema: Schema
    shadows: tuple["ShadowedSchema", ...] = ()
    """Those of the same name that it hides."""


class ShadowedSchema(NamedTuple):
    """A schema that another of its name hides."""

    origin: Origin
    folder: Path


PACKAGE: Final = Path(__file__).parents[1] / "schemas"
"""The schemas that come with this package."""


SPEC_DRIVEN: Final = Schema(
    BUILT_IN,
    "",
    (
        Artifact("proposal", "proposal.md", "", "proposal.md", None, ()),
        Artifact("specs", "specs/**/*.md", "", "spec.md", None, ("proposal",)),
        Artifact("design", "design.md", "", "design.md", None, ("proposal",)),
        Artifact("tasks", "tasks.md", "", "tasks.md", None, ("specs", "design")),
    ),
    Apply(("tasks",), "tasks.md", None),
)
"""The built-in schema without its texts, which YAML takes time to read."""


class Schemas:
    """The schemas a project may name: built in, the user's own and the project's own."""

    def __init__(self, folders: list[Path], files: Files) -> None:
        """`folders`, first the one that wins."""
        self._folders = folders
        self._files = files

    def places(self) -> list[SchemaPlace]:
        """All schemas that can be used, by name; of one name, the one that wins."""
        found: dict[str, SchemaPlace] = {}
        for name in self.names():
            with suppress(SchemaError):
                found[name] = self.place(name)
        return [found[name] for name in sorted(found, key=collation_key)]

    def place(self, name: str) -> SchemaPlace:
        """The schema of this name, with or without `.yaml`; SchemaError otherwise."""
        bare = _bare(name)
        folder = self._folder(bare)
        if folder is None and bare == BUILT_IN:
            folder = PACKAGE / BUILT_IN
        if folder is None:
            known = ", ".join(sorted(self.names()))
            raise SchemaError(f"Schema '{bare}' not found. Available schemas: {known}")
        hidden = tuple(
            ShadowedSchema(self._origin(parent / bare), parent / bare)
            for parent in (*self._folders, PACKAGE)
            if parent / bare != folder and exists(parent / bare / "schema.yaml")
        )
        return SchemaPlace(bare, folder, self._origin(folder), self._read(folder), hidden)

    def _origin(self, folder: Path) -> Origin:
        if folder.parent == self._folders[0]:
            return "project"
        return "package" if folder.parent == PACKAGE else "user"

    def _read(self, folder: Path) -> Schema:
        path = folder / "schema.yaml"
        try:
            return self._files.document(path, _parse)
        except OSError as error:
            raise SchemaError(f"Failed to read schema at '{path}': {error.strerror}") from error
        except SchemaError as error:
            raise SchemaError(f"Invalid schema at '{path}': {error}") from error

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
        return self._read(folder)

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
    try:
        raw = load(decode(data))
    except InvalidYamlError as error:
        raise SchemaError(str(error)) from error
    artifacts = _artifacts(raw)
    given = raw.get("apply")
    apply = None if given is None else _apply(given, {one.id for one in artifacts})
    return Schema(raw["name"], raw.get("description", ""), artifacts, apply)


def _artifacts(raw: Any) -> tuple[Artifact, ...]:
    """The artifacts that a schema declares, or SchemaError."""
    version = raw.get("version") if isinstance(raw, dict) else None
    if not (
        isinstance(raw, dict)
        and _is_text(raw.get("name"))
        and isinstance(version, int)
        and not isinstance(version, bool)
        and version > 0
        and isinstance(raw.get("description", ""), str)
        and isinstance(raw.get("artifacts"), list)
        and 0 < len(raw["artifacts"]) <= _MOST_ARTIFACTS
    ):
        raise SchemaError("a schema must have a name, a version and artifacts")
    found: dict[str, Artifact] = {}
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
            raise SchemaError("an artifact must have an id of its own, generates and template")
        found[artifact["id"]] = Artifact(
            artifact["id"],
            artifact["generates"],
            artifact["description"],
            artifact["template"],
            artifact.get("instruction"),
            tuple(artifact.get("requires", [])),
        )
    _check_order(found)
    return tuple(found.values())


def _check_order(artifacts: dict[str, Artifact]) -> None:
    """Every required artifact is there, and none requires itself in the end."""
    done: set[str] = set()
    while len(done) < len(artifacts):
        ready = {id for id, one in artifacts.items() if done.issuperset(one.requires)} - done
        if not ready:
            raise SchemaError("the artifacts require one that is missing, or each other")
        done |= ready


def _apply(apply: Any, ids: set[str]) -> Apply:
    if not (
        isinstance(apply, dict)
        and _is_texts(apply.get("requires"))
        and apply["requires"]
        and ids.issuperset(apply["requires"])
        and (apply.get("tracks") is None or _is_inner_path(apply["tracks"]))
        and isinstance(apply.get("instruction", ""), str)
    ):
        raise SchemaError("apply must name the artifacts that it requires")
    return Apply(tuple(apply["requires"]), apply.get("tracks"), apply.get("instruction"))


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
    """The files in a change's folder that an artifact's path or pattern means.

    BadFileError where a file stands in place of the folder that a pattern begins with.
    """
    if not re.search(r"[*?\[]|\{[^}]*(?:,|\.\.)|[!@+]\(", generates):
        path = folder / generates
        return [path] if is_file(path) else []
    fixed = folder / re.split(r"/?[^/]*[*?\[{!@+]", generates)[0]
    if is_file(fixed):
        raise BadFileError(fixed, "this must be a folder, and is a file")
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
