"""A change's `.openspec.yaml`: which schema it follows and what it declares."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from ..errors import BadFileError, InvalidYamlError, MetadataError, SchemaError
from ..model.text import decode, pattern
from .files import Files, exists, is_file
from .plain_yaml import load
from .roots import config_file
from .schemas import BUILT_IN, Schemas

FILE_NAME: Final = ".openspec.yaml"
_DATE: Final = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEBAB: Final = pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")

_LARGEST_CONTEXT: Final = 50 * 1024
_OPERATIONS: Final = ("apply", "archive")

Key = Literal["skip_specs", "retire_capabilities"]


class Marker(NamedTuple):
    """Whether a change declares something; `problem` says why a declaration does not count."""

    declared: bool
    problem: str | None = None


class Metadata:
    """What the file says: a value, or text that is not YAML."""

    def __init__(self, data: bytes) -> None:
        self.text: Final = decode(data)
        self.value: Any = None
        self.invalid: str | None = None
        try:
            self.value = load(self.text)
        except InvalidYamlError as error:
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


class ProjectConfig(NamedTuple):
    """What a project's config.yaml says; what it says wrongly is left out, as the CLI does."""

    schema: str | None = None
    context: str | None = None
    rules: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """By artifact."""
    guidance: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """By operation, `apply` or `archive`."""
    cloud_agent: bool | None = None
    """Whether files for Copilot's agent in the cloud are wanted; None where nobody has said."""
    invalid: str | None = None
    """Why the file cannot be read; None where it can."""


class ChangeMetadata:
    """Reads what the changes of one project declare."""

    def __init__(self, openspec: Path, schemas: Schemas, files: Files) -> None:
        self._openspec = openspec
        self._schemas = schemas
        self._files = files

    def marker(self, change: Path, key: Key) -> Marker:
        """Whether the change declares the key, and honourably so."""
        try:
            metadata = self._files.document(change / FILE_NAME, Metadata)
        except FileNotFoundError:
            return Marker(False)
        except (OSError, ValueError, BadFileError) as error:
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
            return self.default_schema()
        try:
            metadata = self._files.document(path, Metadata)
        except (OSError, ValueError, BadFileError) as error:
            raise MetadataError(str(error)) from error
        if problem := metadata.invalid or metadata.problem:
            raise MetadataError(problem)
        name: str = metadata.value["schema"]
        if name not in self._schemas.names():
            raise MetadataError(f"unknown schema '{name}'")
        return name

    def created(self, change: Path) -> str | None:
        """The day the change says it was begun; None where it does not say so rightly."""
        try:
            value = self._files.document(change / FILE_NAME, Metadata).value
        except (OSError, ValueError, BadFileError):
            return None
        created = value.get("created") if isinstance(value, dict) else None
        fits, _ = _FIELDS["created"]
        return created if isinstance(created, str) and fits(created) else None

    def context(self) -> str | None:
        """The project context the configuration holds, if it holds any."""
        config = self._config()
        context = config.get("context")
        return context if isinstance(context, str) and context.strip() else None

    def config(self) -> ProjectConfig:
        """The project's configuration."""
        raw = self._config()
        schema, context, rules = raw.get("schema"), raw.get("context"), raw.get("rules")
        operations = raw.get("operations")
        operations = operations if isinstance(operations, dict) else {}
        fits = isinstance(context, str) and len(context.encode()) <= _LARGEST_CONTEXT
        copilot = raw.get("githubCopilot")
        cloud = copilot.get("cloudAgent") if isinstance(copilot, dict) else None
        return ProjectConfig(
            schema if isinstance(schema, str) and schema else None,
            context if fits else None,
            _lists_of_text(rules if isinstance(rules, dict) else {}),
            _lists_of_text(
                {
                    name: operation.get("guidance")
                    for name, operation in operations.items()
                    if name in _OPERATIONS and isinstance(operation, dict)
                }
            ),
            cloud if isinstance(cloud, bool) else None,
            self._config_problem(),
        )

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

    def default_schema(self) -> str:
        """Name of the schema that a new change follows."""
        name = self._config().get("schema")
        return name if isinstance(name, str) and name else BUILT_IN

    def _config_problem(self) -> str | None:
        path = config_file(self._openspec)
        if path is None or not is_file(path):
            return None
        try:
            return self._files.document(path, Metadata).invalid
        except (OSError, ValueError, BadFileError) as error:
            return str(error)

    def _config(self) -> dict[str, Any]:
        path = config_file(self._openspec)
        if path is None:
            return {}
        try:
            value = self._files.document(path, Metadata).value
        except (OSError, ValueError, BadFileError):
            return {}
        return value if isinstance(value, dict) else {}


def _lists_of_text(raw: dict[Any, Any]) -> dict[str, tuple[str, ...]]:
    """The entries that are lists of texts, empty texts left out."""
    return {
        str(name): texts
        for name, value in raw.items()
        if isinstance(value, list)
        and all(isinstance(one, str) for one in value)
        and (texts := tuple(filter(None, value)))
    }


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
