"""mcp-host.toml as frozen models: what may stand in it, how secrets are read, what is wrong."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from .errors import SettingsError
from .records import Record, fresh

PACK_NAME = r"^[a-z][a-z0-9_]{0,31}$"
RESERVED_PACK_NAME = "host"
SCOPE = r"^(\*|[a-z][a-z0-9_]{0,31}:(read|write))$"
MASK = "********"
SHORTEST_MASKED = 4
"""A secret shorter than this stands in every other word: texts with it masked would say nothing."""

Seconds = Annotated[float, Field(gt=0, le=86400)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Keys = tuple[str | int, ...]


class _FromSecret(str):
    """A text from the environment or a file: the one place where "8000" may stand for a number."""

    __slots__ = ()


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _read_texts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {
            key: cls._read_text(key, value) if isinstance(value, _FromSecret) else value
            for key, value in data.items()
        }

    @classmethod
    def _read_text(cls, key: str, text: str) -> Any:
        if key not in cls.model_fields:
            return text
        annotation: Any = cls.model_fields[key].annotation
        try:
            return TypeAdapter(annotation).validate_python(str(text))
        except ValidationError:
            return text  # the field itself says what is wrong with it


class HostTable(_Table):
    """The table [host]."""

    root: Path | None = Field(
        None, strict=False, description="The project's folder, for packs about a project."
    )
    timeout: Seconds = Field(30, description="Seconds a call may take, where nothing else says so.")
    max_concurrency: Count = Field(
        64, description="Calls that run at once; four times as many wait, others hear `busy`."
    )
    page_size: Count = Field(1000, description="Entries on one page of a list.")
    asking_timeout: Seconds = Field(300, description="Seconds a call waits for a person's answer.")
    grace: Seconds = Field(
        5, description="Seconds that running calls get when the host stops, and then its packs."
    )
    start_timeout: Seconds = Field(
        10, description="Seconds a pack may take for each step: import, each answer, opening."
    )
    retry_after: Seconds = Field(
        5,
        description="Seconds until a pack that could not be opened is tried again; doubled each "
        "time, up to 5 minutes.",
    )
    max_message_bytes: Annotated[int, Field(ge=1024)] = Field(
        4 * 1024 * 1024, description="The longest message that is read, in bytes."
    )
    state_key: str | None = Field(
        None,
        min_length=32,
        description="Seals questions carried by the client, so that another process can take the "
        "answer; at least 32 characters, from a secret. Without it, each start makes its own.",
    )
    catalogue: bool = Field(
        True, description="Save what clients see first, to show it at once at the next start."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least level that is logged."
    )
    log_format: Literal["text", "json"] = Field("text", description="How the log is written.")


class TokenTable(_Table):
    """One of [[http.tokens]]."""

    token: str = Field(min_length=16, description="The bearer token; from a secret.")
    subject: str = Field(min_length=1, description="Who presents it; packs see this as the caller.")
    scopes: list[Annotated[str, Field(pattern=SCOPE)]] = Field(
        default_factory=list, description="What it may do: `PACK:read`, `PACK:write`, `*`."
    )


class HttpTable(_Table):
    """The table [http]."""

    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        8000, description="The port to listen on; 0 takes a free one."
    )
    tokens: list[TokenTable] = Field(default_factory=list, description="Who may call.")
    allow_unauthenticated: bool = Field(
        False, description="Serve beyond this machine without tokens: everybody may do everything."
    )
    allowed_hosts: list[str] = Field(
        default_factory=list,
        description="Host headers to accept besides the address itself, such as `mcp.example.org`.",
    )
    allowed_origins: list[str] = Field(
        default_factory=list,
        description="Origins of web pages that may call, such as `https://app.example.org`.",
    )
    stateless: bool = Field(
        False,
        description="Keep no sessions, so that several processes can serve: clients of the "
        "handshake era then get no notifications and cannot be asked.",
    )
    max_body_bytes: Annotated[int, Field(ge=1024)] = Field(
        4 * 1024 * 1024, description="The longest request body that is read, in bytes."
    )
    session_idle_timeout: Seconds = Field(
        1800, description="Seconds after which an unused session ends."
    )


class ToolTable(_Table):
    """One of [packs.X.tools.T]."""

    timeout: Seconds | None = Field(None, description="Seconds a call of this tool may take.")


class PackTable(_Table):
    """One of [packs.X]."""

    enabled: bool = Field(True, description="Whether the pack is imported and served.")
    required: bool = Field(False, description="Whether the host ends when the pack fails.")
    distribution: str | None = Field(
        None, description="Which distribution, where several offer a pack of this name."
    )
    prefix: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{0,32}$",
        description="What stands before the names of its tools and prompts; the pack's name.",
    )
    timeout: Seconds | None = Field(None, description="Seconds a call of this pack may take.")
    max_concurrency: Count = Field(32, description="Calls of this pack that run at once.")
    include: list[str] = Field(
        default_factory=list, description="Tools to serve, as globs of their own names; else all."
    )
    exclude: list[str] = Field(default_factory=list, description="Tools to leave out, as globs.")
    read_only: bool = Field(False, description="Serve only what is marked read-only.")
    shared: bool = Field(
        False, description="Serve it beyond this machine although it acts as the server's user."
    )
    tools: dict[str, ToolTable] = Field(default_factory=dict, description="Settings of one tool.")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="The pack's own settings, checked by its model."
    )


class FileTables(_Table):
    """The whole of mcp-host.toml."""

    host: HostTable = Field(default_factory=HostTable)
    http: HttpTable = Field(default_factory=HttpTable)
    packs: dict[Annotated[str, Field(pattern=PACK_NAME)], PackTable] = Field(default_factory=dict)


class Secrets(Record):
    """What came from the environment or from files: values to mask, and where they stood."""

    keys: frozenset[Keys] = frozenset()
    values: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def __or__(self, other: Secrets) -> Secrets:
        return Secrets(
            self.keys | other.keys,
            self.values | other.values,
            self.variables | other.variables,
            self.files | other.files,
        )

    def redact(self, text: str) -> str:
        """The text with every secret value masked, also as JSON, `repr` or a URL writes it."""
        for written in self._written:
            text = text.replace(written, MASK)
        return text

    @cached_property
    def _written(self) -> list[str]:
        values = [value for value in self.values if len(value) >= SHORTEST_MASKED]
        ways = {w for v in values for w in (v, json.dumps(v)[1:-1], repr(v)[1:-1], quote(v, ""))}
        return sorted(ways, key=len, reverse=True)

    def redact_data(self, data: Any) -> Any:
        """Plain data with every secret value in its strings masked."""
        if not self.values:
            return data
        if isinstance(data, str):
            return self.redact(data)
        if isinstance(data, dict):
            return {key: self.redact_data(value) for key, value in data.items()}
        if isinstance(data, list):
            return [self.redact_data(item) for item in data]
        return data


class Settings(Record):
    """Settings as the host uses them: checked, secrets read, relative paths made absolute.

    `problems` says for a pack why its own settings could not be read: that pack alone fails.
    """

    host: HostTable = HostTable()
    http: HttpTable = HttpTable()
    packs: Mapping[str, PackTable] = fresh(dict)
    source: Path | None = None
    secrets: Secrets = Secrets()
    problems: Mapping[str, str] = fresh(dict)

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.source.parent if self.source else Path.cwd()

    def replace(self, **changes: Any) -> Settings:
        return self.__replace__(**changes)

    def shown(self) -> dict[str, Any]:
        """Everything as plain data, secrets masked, defaults filled in."""
        tables = FileTables(host=self.host, http=self.http, packs=dict(self.packs))
        data = tables.model_dump(mode="json")
        for keys in self.secrets.keys:
            _mask(data, keys)
        return data


def load(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Read a settings file; `SettingsError` names the file, the key, and what is right."""
    try:
        text = path.read_bytes().decode("utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such file; `mcp-host init` makes one") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not valid TOML: {error}") from None
    return parse(data, path.absolute(), environment)


def parse(
    data: Mapping[str, Any], source: Path | None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Check a settings file's data; as `load`."""
    env = os.environ if environment is None else environment
    where = str(source or "settings")
    reader = _Secrets(source.parent if source else Path.cwd(), env)
    own: dict[str, Any] = {}
    problems: dict[str, str] = {}
    plain = dict(data)
    packs = data.get("packs")
    if isinstance(packs, Mapping):
        plain["packs"] = {}
        for name, table in packs.items():
            plain["packs"][name] = table
            if isinstance(table, Mapping) and isinstance(table.get("settings"), Mapping):
                plain["packs"][name] = {k: v for k, v in table.items() if k != "settings"}
                try:
                    # Each on its own: the whole may have a key `file` and is still no secret.
                    keys: Keys = ("packs", name, "settings")
                    own[name] = {
                        key: reader.resolve(value, (*keys, key), str)
                        for key, value in table["settings"].items()
                    }
                except SettingsError as error:
                    problems[name] = str(error)
    try:
        tables = FileTables.model_validate(reader.resolve(plain, ()))
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{where}: {explain(error, FileTables)}") from None
    if RESERVED_PACK_NAME in tables.packs:
        raise SettingsError(f"{where}: packs.host: this name is the host's own")
    _keys_are_secrets(where, tables, reader.secrets)
    host = tables.host
    if host.root is not None and source is not None:
        try:
            host = host.model_copy(update={"root": source.parent / host.root.expanduser()})
        except RuntimeError as error:  # "~nobody/x"
            raise SettingsError(f"{where}: host.root: {error}") from None
    return Settings(
        host=host,
        http=tables.http,
        packs={
            name: table.model_copy(update={"settings": own.get(name, {})})
            for name, table in tables.packs.items()
        },
        source=source,
        secrets=reader.secrets,
        problems=problems,
    )


class _Secrets:
    """Replaces `{ env = "X" }` and `{ file = "…" }` by their values, and remembers which."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self.secrets = Secrets()

    def resolve(self, value: Any, keys: Keys, text: type[str] = _FromSecret) -> Any:
        """The value with its secrets read; `text` is the type that they get."""
        if isinstance(value, Mapping):
            if isinstance(value.get("env"), str) and set(value) <= {"env", "default"}:
                found = self._from_environment(value, keys)
                return text(found) if isinstance(found, str) else found
            if set(value) == {"file"} and isinstance(value["file"], str):
                return text(self._from_file(value["file"], keys))
            return {key: self.resolve(item, (*keys, key), text) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item, (*keys, i), text) for i, item in enumerate(value)]
        return value

    def _from_environment(self, value: Mapping[str, Any], keys: Keys) -> Any:
        variable = value["env"]
        if not variable:
            raise SettingsError(f"{dotted(keys)}: env must name a variable")
        if isinstance(value.get("default"), list | Mapping):
            raise SettingsError(f"{dotted(keys)}: a default is a text, a number, true or false")
        if variable in self._environment:
            return self._keep(self._environment[variable], keys, variable)
        if "default" in value:
            self.secrets |= Secrets(keys=frozenset({keys}), variables=frozenset({variable}))
            return value["default"]
        raise SettingsError(
            f"{dotted(keys)}: the environment variable {variable} is not set, and there is no "
            "default"
        )

    def _from_file(self, name: str, keys: Keys) -> str:
        try:
            path = self._folder / Path(name).expanduser()
        except RuntimeError as error:  # "~nobody/x"
            raise SettingsError(f"{dotted(keys)}: {error}") from None
        self.secrets |= Secrets(files=frozenset({str(path)}))
        try:
            return self._keep(path.read_text("utf-8").strip(), keys)
        except UnicodeDecodeError:
            raise SettingsError(f"{dotted(keys)}: {path} is not UTF-8 text") from None
        except (OSError, ValueError) as error:  # a ValueError: NUL in the name
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"{dotted(keys)}: cannot read {path}: {reason}") from None

    def _keep(self, value: str, keys: Keys, variable: str | None = None) -> str:
        self.secrets |= Secrets(
            frozenset({keys}),
            frozenset({value}) if value else frozenset(),
            frozenset({variable}) if variable else frozenset(),
        )
        return value


def pack_settings(
    name: str, model: type[BaseModel] | None, settings: Settings, root: Path | None
) -> BaseModel | None:
    """A pack's own settings, checked by its model; `SettingsError` names the key.

    Relative paths start at the settings file's folder. A field `root` of type Path is filled with
    `root` where the pack's settings do not name one.
    """
    if name in settings.problems:
        raise SettingsError(settings.problems[name])
    given = dict(settings.packs[name].settings) if name in settings.packs else {}
    if model is None:
        if given:
            raise SettingsError(f"packs.{name}.settings: this pack has no settings")
        return None
    try:
        given = _placed(given, model, settings.folder)
    except RuntimeError as error:  # "~nobody/x"
        raise SettingsError(f"packs.{name}.settings: {error}") from None
    if about_project(model) and given.get("root") is None:
        given["root"] = root
    known = {n for key, info in model.model_fields.items() for n in (key, info.alias) if n}
    if model.model_config.get("extra") is None:  # a model that does not say it wants more
        for key in given.keys() - known:
            raise SettingsError(f"packs.{name}.settings.{key}: {_unknown(key, sorted(known))}")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"packs.{name}.settings.{explain(error, model)}") from None


def _placed(value: Any, annotation: Any, folder: Path) -> Any:
    """The value with its relative paths made absolute, wherever the annotation wants a path."""
    arms = [arm for arm in _arms(annotation) if arm is not type(None)]
    if isinstance(value, str):
        return folder / Path(value).expanduser() if Path in arms else value
    for arm in arms:
        inner = get_args(arm)
        if isinstance(value, list) and inner and typing.get_origin(arm) is not dict:
            return [_placed(item, inner[0], folder) for item in value]
        if isinstance(value, dict) and typing.get_origin(arm) is dict:
            return {key: _placed(item, inner[1], folder) for key, item in value.items()}
        if isinstance(value, dict) and isinstance(arm, type) and issubclass(arm, BaseModel):
            wanted = {info.alias or key: info.annotation for key, info in arm.model_fields.items()}
            return {key: _placed(item, wanted.get(key), folder) for key, item in value.items()}
    return value


def _arms(annotation: Any) -> tuple[Any, ...]:
    """What a value may be: the arms of a union, or the annotation itself."""
    if typing.get_origin(annotation) is Annotated:
        return _arms(get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(arm for each in get_args(annotation) for arm in _arms(each))
    return (annotation,)


def about_project(model: type[BaseModel] | None) -> bool:
    """Whether a pack's settings have a `root`, which the host fills in."""
    if model is None or "root" not in model.model_fields:
        return False
    return wants_path(model.model_fields["root"].annotation)


def wants_path(annotation: Any) -> bool:
    """Whether a value of this type is a path."""
    return annotation is Path or any(wants_path(arm) for arm in get_args(annotation))


def project_root(settings: Settings, name: str) -> Path:
    """The folder a pack about a project works in; `SettingsError` where none can be assumed."""
    if settings.host.root is not None:
        return settings.host.root
    here = Path.cwd()
    if here in (Path(here.anchor), Path.home()):
        raise SettingsError(
            f"which project? The working directory is {here}, which is nobody's project; start "
            f"the server in the project's folder or with --root FOLDER, or set root in [host] or "
            f"in [packs.{name}.settings]"
        )
    return here


def dotted(keys: Keys) -> str:
    """Where something stands in the file: `http.tokens[0].token`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """pydantic's first finding as `key: what is wrong`, with the nearest known key."""
    items = error.errors(include_url=False, include_input=False, include_context=False)
    # A misspelt key is also a missing one: the name that is there explains both.
    item = next((item for item in items if item["type"] == "extra_forbidden"), items[0])
    where = dotted(tuple(part for part in item["loc"] if part != "[key]"))
    more = f" (and {len(items) - 1} more)" if len(items) > 1 else ""
    if item["type"] != "extra_forbidden":
        return f"{where or 'settings'}: {item['msg'].removeprefix('Value error, ')}{more}"
    known = _known_keys(model, item["loc"][:-1])
    problem = _unknown(str(item["loc"][-1]), known)
    is_of_pack = model is FileTables and len(item["loc"]) == 3 and item["loc"][0] == "packs"
    if is_of_pack and "did you mean" not in problem:
        problem += f"; the pack's own settings stand in [packs.{item['loc'][1]}.settings]"
    return f"{where}: {problem}{more}"


def _unknown(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"
    return f"unknown key; {hint}"


def _known_keys(model: type[BaseModel], keys: tuple[int | str, ...]) -> list[str]:
    here: Any = model
    for key in keys:
        if isinstance(here, type) and issubclass(here, BaseModel) and key in here.model_fields:
            here = here.model_fields[str(key)].annotation
        elif typing.get_origin(here) in (dict, list):
            here = get_args(here)[-1]
        arms = [arm for arm in get_args(here) if isinstance(arm, type)]
        if typing.get_origin(here) not in (dict, list) and arms:
            here = next((arm for arm in arms if issubclass(arm, BaseModel)), here)
    if isinstance(here, type) and issubclass(here, BaseModel):
        return [info.alias or name for name, info in here.model_fields.items()]
    return []


def _keys_are_secrets(where: str, tables: FileTables, secrets: Secrets) -> None:
    """What opens the server stands in no settings file, not even as a default."""
    found: dict[Keys, str] = {
        ("http", "tokens", index, "token"): token.token
        for index, token in enumerate(tables.http.tokens)
    }
    if len(set(found.values())) < len(found):
        raise SettingsError(f"{where}: http.tokens: two subjects have the same token")
    if tables.host.state_key is not None:
        found["host", "state_key"] = tables.host.state_key
    for keys, value in found.items():
        if keys not in secrets.keys or value not in secrets.values:
            what = str(keys[-1]).replace("_", " ")
            raise SettingsError(
                f"{where}: {dotted(keys)}: write no {what} here; name where it is kept: "
                '{ env = "NAME_OF_A_VARIABLE" } or { file = "name-of-a-file" }'
            )


def _mask(data: Any, keys: Keys) -> None:
    for key in keys[:-1]:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(data, dict | list):
        try:
            data[keys[-1]] = MASK  # type: ignore[index]  # str for a dict, int for a list
        except (KeyError, IndexError, TypeError):
            return
