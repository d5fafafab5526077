"""A change's `.openspec.yaml`: which schema it follows and what it declares."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import BadFile
from ..model.text import decode
from .files import Files, exists
from .roots import config_file
from .schemas import BUILT_IN, SchemaError, Schemas

FILE_NAME: Final = ".openspec.yaml"
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

Key = Literal["skip_specs", "retire_capabilities"]


class MetadataError(ValueError):
    """Metadata that cannot be used."""


@dataclass(frozen=True, slots=True)
class Marker:
    """Whether a change declares something; `problem` says why a declaration does not count."""

    declared: bool
    problem: str | None = None


class Metadata:
    """What the file says: a value, or text that is not YAML."""

    def __init__(self, data: bytes) -> None:
        from .yaml12 import InvalidYaml, load  # start-up time: most commands never read YAML

        self.text: Final = decode(data)
        self.value: Any = None
        self.invalid: str | None = None
        try:
            self.value = load(self.text)
        except InvalidYaml as error:
            self.invalid = str(error)

    @property
    def problem(self) -> str | None:
        """The first thing wrong with the value; None when it is valid metadata."""
        if not isinstance(self.value, dict):
            return "the file must hold keys and values"
        for key, (fits, expected) in _FIELDS.items():
            if (key in self.value or key == "schema") and not fits(self.value.get(key)):
                return f"{key}: expected {expected}"
        return None


class ChangeMetadata:
    """Reads what the changes of one project declare."""

    def __init__(self, project: Path, schemas: Schemas, files: Files) -> None:
        self._project = project
        self._schemas = schemas
        self._files = files

    def marker(self, change: Path, key: Key) -> Marker:
        """Whether the change declares the key, and honourably so."""
        try:
            metadata = self._files.document(change / FILE_NAME, Metadata)
        except FileNotFoundError:
            return Marker(False)
        except (OSError, ValueError, BadFile) as error:
            return Marker(False, f"the file cannot be read: {error}")
        if metadata.invalid is not None:
            mentioned = re.search(rf"^\s*(['\"]?){key}\1\s*:", metadata.text, re.MULTILINE)
            return Marker(False, "the file is not valid YAML" if mentioned else None)
        if metadata.problem is None:
            return self._honour(metadata.value, key)
        value = metadata.value
        if isinstance(value, dict) and key in value and value[key] is not False:
            return Marker(False, metadata.problem)
        return Marker(False)

    def schema(self, change: Path) -> str:
        """Name of the schema the change follows; MetadataError where it names none that exists."""
        path = change / FILE_NAME
        if not exists(path):
            return self._default_schema()
        try:
            metadata = self._files.document(path, Metadata)
        except (OSError, ValueError, BadFile) as error:
            raise MetadataError(str(error)) from error
        if problem := metadata.invalid or metadata.problem:
            raise MetadataError(problem)
        name: str = metadata.value["schema"]
        if name not in self._schemas.names():
            raise MetadataError(f"unknown schema '{name}'")
        return name

    def context(self) -> str | None:
        """The project context the configuration holds, if it holds any."""
        config = self._config()
        context = config.get("context")
        return context if isinstance(context, str) and context.strip() else None

    def _honour(self, value: dict[str, Any], key: Key) -> Marker:
        if value.get(key) is not True:
            return Marker(False)
        name = value["schema"]
        if name not in self._schemas.names():
            return Marker(False, f"schema: unknown schema '{name}'")
        try:
            self._schemas.get(name)
        except SchemaError as error:
            return Marker(False, str(error))
        return Marker(True)

    def _default_schema(self) -> str:
        name = self._config().get("schema")
        return name if isinstance(name, str) and name else BUILT_IN

    def _config(self) -> dict[str, Any]:
        path = config_file(self._project)
        if path is None:
            return {}
        try:
            value = self._files.document(path, Metadata).value
        except (OSError, ValueError, BadFile):
            return {}
        return value if isinstance(value, dict) else {}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_initiative(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"store", "id"}
        and all(isinstance(part, str) and _KEBAB.fullmatch(part) for part in value.values())
    )


_FIELDS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "schema": (_is_text, "the name of a schema"),
    "created": (lambda v: isinstance(v, str) and bool(_DATE.fullmatch(v)), "a date, YYYY-MM-DD"),
    "goal": (_is_text, "a text"),
    "affected_areas": (lambda v: isinstance(v, list) and all(map(_is_text, v)), "a list of texts"),
    "initiative": (_is_initiative, "a store and an id, both in kebab-case"),
    "skip_specs": (lambda v: isinstance(v, bool), "true or false"),
    "retire_capabilities": (lambda v: isinstance(v, bool), "true or false"),
}
