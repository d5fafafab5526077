"""From mcp-host.toml to settings that the host can use."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Container, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from ..errors import SettingsError
from ..startup import trust as trusting
from ..startup.dataclass import dataclass
from .code_files import code_files
from .explaining import explain
from .keys import Keys, dotted
from .lock_place import lock_file
from .secrets import SecretReader, Secrets
from .tables import (
    RESERVED_PACK_NAME,
    FileTables,
    FileTablesWithoutHttp,
    HostTable,
    HttpTable,
    PackTable,
    ProfileTable,
)
from .workers import WorkerChoice, without_workers

if TYPE_CHECKING:
    from .locked import LockedPack


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings as the host uses them: checked, secrets read, relative paths made absolute.

    `problems` says for a pack why its own settings could not be read: that pack alone fails.
    `warnings` are for whoever keeps the file. `working_folder` and the `environment` of packs in
    processes of their own are a session's, and None where they are the process's. `workers` are
    those of other distributions, by the packs that have chosen one. `digest` is that of the file's
    bytes, where there is one. `locked` are the packs of the lock file, with what was agreed to.
    `listening` is the descriptor of the socket that one of several workers serves at.

    Invariants: they never change, and neither do their tables: other settings are another object.
    Whatever text came from a variable or a file is known to `secrets`.
    """

    host: HostTable = field(default_factory=HostTable)
    http: HttpTable = field(default_factory=HttpTable.model_construct)
    packs: Mapping[str, PackTable] = field(default_factory=dict)
    profiles: Mapping[str, ProfileTable] = field(default_factory=dict)
    source: Path | None = None
    secrets: Secrets = field(default_factory=Secrets)
    problems: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    working_folder: Path | None = None
    environment: Mapping[str, str] | None = None
    workers: Mapping[str, WorkerChoice] = field(default_factory=dict)
    digest: str = ""
    locked: Mapping[str, LockedPack] = field(default_factory=dict)
    listening: int | None = None

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.source.parent if self.source else self.here

    @property
    def here(self) -> Path:
        """The working directory that the settings are read in, which may be a session's own."""
        return self.working_folder or Path.cwd()

    def is_apart(self, pack: str) -> bool:
        """Whether a pack has a process of its own."""
        table = self.packs[pack]
        isolation = table.isolation or self.host.isolation
        return isolation == "process" or table.python is not None or pack in self.workers

    def replace(self, **changes: Any) -> Settings:
        """A copy with some attributes changed."""
        return dataclasses.replace(self, **changes)

    def in_processes(self, names: Container[str]) -> Settings:
        """The same with these packs in processes of their own."""
        packs = {
            name: table.model_copy(update={"isolation": "process"}) if name in names else table
            for name, table in self.packs.items()
        }
        return self.replace(packs=packs)

    def shown(self) -> dict[str, Any]:
        """Everything as plain data, secrets masked, defaults filled in."""
        tables = FileTables(
            host=self.host, http=self.http, packs=dict(self.packs), profiles=dict(self.profiles)
        )
        data = tables.model_dump(mode="json")
        for name, chosen in self.workers.items():
            data["packs"][name].update(chosen.given)
        self.secrets.mask_places(data)
        return data


def load(
    path: Path, environment: Mapping[str, str] | None = None, *, digest: str | None = None
) -> Settings:
    """Read a settings file; `SettingsError` names the file, the key, and what is right.

    With a `digest`, its bytes must be those that were trusted.
    """
    return loads(read(path, digest), path, environment)


def trust(path: Path) -> bytes:
    """Record a settings file and what it runs as trusted; the bytes that were."""
    data = read(path)
    trust_bytes(path, data)
    return data


def trust_bytes(path: Path, data: bytes) -> None:
    """Record these bytes as a settings file's trusted content, and the files that they run.

    Also its lock file, which says what may be served.
    """
    files = code_files(data, path.absolute().parent)
    runs = (*files.runs, str(lock_file(path.absolute())))
    trusting.trust(path, data, runs, files.names)


def read(path: Path, digest: str | None = None) -> bytes:
    """The bytes of a settings file; with a `digest`, only where they are those that were trusted.

    `SettingsError` where they cannot be read, or are others.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such file; `mcp-host init` makes one") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from None
    if digest is not None and trusting.digest(data) != digest:
        raise SettingsError(
            f"{path} is not read: it changed while it was looked at. Look at it, then run: "
            f"mcp-host trust {path}"
        )
    return data


def loads(data: bytes, path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file whose bytes were read already; as `load`."""
    import tomllib  # 0.15 MiB that a pack's process does not need: it is told its settings

    try:
        tables = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: must be UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not valid TOML: {error}") from None
    path = path.absolute()
    settings = parse(tables, path, environment)
    return settings.replace(digest=trusting.digest(data), locked=_locked(path))


def _locked(path: Path) -> Mapping[str, LockedPack]:
    """What is agreed to of each pack in the lock file; nothing where there is none."""
    if not os.path.lexists(lock_file(path)):
        return {}
    from .locked import read_lock  # few settings have a lock file

    return read_lock(path)


def parse(
    data: Mapping[str, Any], source: Path | None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Check a settings file's data; as `load`."""
    where = str(source or "settings")
    folder = source.parent if source else Path.cwd()
    reader = SecretReader(folder, os.environ if environment is None else environment)
    own = _read_own(data, reader)
    try:
        # [host] is named so that no defaults need be made of it apart from the file's check.
        named, workers = without_workers({"host": {}, **reader.resolve(own.rest, ())})
        tables = (FileTables if "http" in named else FileTablesWithoutHttp).model_validate(named)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{where}: {explain(error, FileTables)}") from None
    if RESERVED_PACK_NAME in tables.packs:
        raise SettingsError(f"{where}: packs.host: this name is the host's own")
    _check_secret(where, tables, reader.secrets)
    host = _with_absolute_paths(tables.host, where, source)
    return Settings(
        host=host,
        http=tables.http,
        packs={
            name: table.model_copy(
                update={"settings": own.settings.get(name, {}), **_placed(name, table, folder)}
            )
            for name, table in tables.packs.items()
        },
        profiles=tables.profiles,
        source=source,
        secrets=reader.secrets,
        problems=own.problems,
        warnings=tuple(reader.warnings),
        workers=workers,
    )


def _with_absolute_paths(host: HostTable, where: str, source: Path | None) -> HostTable:
    """The table with its relative paths made absolute, from the file's folder."""
    absolute = {}
    for key in ("root", "audit"):
        path: Path | None = getattr(host, key)
        if path is not None and source is not None:
            try:
                absolute[key] = source.parent / path.expanduser()
            except RuntimeError as error:  # "~nobody/x"
                raise SettingsError(f"{where}: host.{key}: {error}") from None
    return host.model_copy(update=absolute) if absolute else host


def _placed(name: str, table: PackTable, folder: Path) -> dict[str, str]:
    """The file that is the pack, where it is one, by its absolute path."""
    if table.file is None:
        return {}
    try:
        return {"file": os.path.normpath(folder / Path(table.file).expanduser())}
    except RuntimeError as error:  # "~nobody/x"
        raise SettingsError(f"packs.{name}.file: {error}") from None


class _Own(NamedTuple):
    """A file's data with the packs' own settings apart: those read, and those that could not be."""

    rest: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    problems: Mapping[str, str]


def _read_own(data: Mapping[str, Any], reader: SecretReader) -> _Own:
    """Read the secrets of each pack's own settings: what is wrong in them fails that pack alone."""
    packs = data.get("packs")
    if not isinstance(packs, Mapping):
        return _Own(data, {}, {})
    settings: dict[str, Mapping[str, Any]] = {}
    problems: dict[str, str] = {}
    rest = dict(packs)
    for name, table in packs.items():
        if not (isinstance(table, Mapping) and isinstance(table.get("settings"), Mapping)):
            continue
        rest[name] = {key: value for key, value in table.items() if key != "settings"}
        keys: Keys = ("packs", name, "settings")
        try:
            # Each on its own: the whole may have a key `file` and is still no secret.
            settings[name] = {
                key: reader.resolve(value, (*keys, key), str)
                for key, value in table["settings"].items()
            }
        except SettingsError as error:
            problems[name] = str(error)
    return _Own({**data, "packs": rest}, settings, problems)


def _check_secret(where: str, tables: FileTables | FileTablesWithoutHttp, secrets: Secrets) -> None:
    """`SettingsError` where what opens the server stands in the file, even as a default."""
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
