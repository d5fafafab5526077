"""The saved catalogue: what a server showed first when it last started, to show it at once again.

A file of JSON in the user's cache folder, one for each command, settings file, Python environment
and project. A fingerprint of everything that the lists depend on decides whether it is still good;
what it cannot see is found when the packs have loaded, and told to the client then. Reading it is
most of what a client waits for: nothing here imports pydantic, the SDK or a pack, nor typing or
pathlib, which take 3 ms each.
"""

from __future__ import annotations

import os
import stat
import sys

from . import folders
from .catalogue import Catalogue
from .digests import sha256
from .json_text import dumps, loads
from .records import Record
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

FORMAT = 8
LARGEST = 8 * 1024 * 1024
FOLDER = "catalogues"
DRAFT = ".catalogue-"
DAMAGED = "it is damaged"
FILES, SETTINGS = "installed files", "settings file"
"""Parts of a fingerprint: which code is there, and what the settings file says."""
COARSE = 0.02
"""Seconds by which a file's time may be behind."""
OWNERS = ("tools", "prompts", "doubted")
"""Tables of packs by public names; tools that are doubted say more of themselves than counts."""
OLD_DRAFT, OLD = 3600, 90 * 86400
"""Seconds after which a draft is that of a process that was killed, and a catalogue nobody's."""


class ServerIdentity(Record):
    """Which server this is: one saved catalogue belongs to each.

    `program` is the command's name, `root` the folder of the project or of the start, `profile`
    what of the settings is served. What else a command line says is about logs and HTTP, and shows
    in no list.
    """

    program: str
    source: str | Path | None
    root: str
    profile: str = ""

    @property
    def file(self) -> str:
        """The file that the catalogue is saved in."""
        text = dumps([self.program, str(self.source), self.root, self.profile, sys.prefix])
        name = f"{sha256(text.encode()).hexdigest()[:32]}.json"
        return os.path.join(folders.cache(), FOLDER, name)


class Dependencies(Record):
    """What the lists of a server were made of, besides its settings file.

    `files` are those whose change matters, `folders` those where what is new or gone does;
    `variables` and `secret_variables` the names of the environment that were read; `secret_files`
    those that settings took secrets from.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()


class Saved(Record):
    """A catalogue as it was read; `refusal` says why it must not be shown, empty where it may.

    `is_warm` says that the settings want the warm host, `sends` that they want telemetry, and
    `apart` names the packs that a session shares with no other there. `owners` tells the pack of
    each tool and each prompt, by its public name. `fingerprint` is what the lists depend on as it
    is now, and `changed` the parts that are no longer as they were saved. `text` is a catalogue
    that has still to be `opened`.
    """

    catalogue: Catalogue | None
    refusal: str
    changed: tuple[str, ...] = ()
    must_stay: bool = False
    dependencies: Dependencies = Dependencies()
    time: float = 0
    is_warm: bool = False
    sends: bool = False
    apart: tuple[str, ...] = ()
    owners: Mapping[str, Mapping[str, str]] = {}
    fingerprint: Mapping[str, str] = {}
    text: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it may be shown."""
        return (self.catalogue is not None or bool(self.text)) and not self.refusal

    def opened(self) -> Saved:
        """The same with its catalogue, which is most of the work of reading it."""
        if not self.text:
            return self
        try:
            catalogue = Catalogue(**loads(self.text))
            if catalogue.is_whole:
                return self.__replace__(catalogue=catalogue, text="")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Saved(None, DAMAGED)
        return Saved(None, DAMAGED)


def read(identity: ServerIdentity, environment: Mapping[str, str] | None = None) -> Saved:
    """The saved catalogue of a server, and whether it is still good; never raises."""
    return look(identity, environment).opened()


def look(identity: ServerIdentity, environment: Mapping[str, str] | None = None) -> Saved:
    """As `read`, with a catalogue that has still to be opened."""
    env = os.environ if environment is None else environment
    try:
        data = _read_own_file(identity.file)
        saved = dict(data["fingerprint"])
        depends = Dependencies(**{k: tuple(v) for k, v in data["dependencies"].items()})
        now = fingerprint(identity, depends, env, data["salt"])
        text = str(data["catalogue"])
        must_stay, when = bool(data["must_stay"]), float(data["time"])
        is_warm, sends = bool(data["is_warm"]), bool(data["sends"])
        apart = tuple(map(str, data["apart"]))
        owners = {what: dict(data["owners"][what]) for what in OWNERS}
    except FileNotFoundError:
        return Saved(None, "there is none yet")
    except _NotOurs as error:
        return Saved(None, str(error))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Saved(None, DAMAGED)
    changed = tuple(p for p in sorted({*now, *saved}) if now.get(p) != saved.get(p))
    refusal = f"changed since: {', '.join(changed)}" if changed else ""
    return Saved(
        None, refusal, changed, must_stay, depends, when, is_warm, sends, apart, owners, now, text
    )


def write(
    identity: ServerIdentity,
    catalogue: Catalogue,
    depends: Dependencies,
    *,
    must_stay: bool,
    is_warm: bool = False,
    sends: bool = False,
    apart: Sequence[str] = (),
    owners: Mapping[str, Mapping[str, str]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Save a catalogue atomically, readable for its owner alone; silent where that cannot be."""
    import tempfile
    import time

    env = os.environ if environment is None else environment
    salt = os.urandom(16).hex()
    data = {
        "format": FORMAT,
        "time": time.time(),
        "salt": salt,
        "must_stay": must_stay,
        "is_warm": is_warm,
        "sends": sends,
        "apart": list(apart),
        "owners": {what: (owners or {}).get(what, {}) for what in OWNERS},
        "fingerprint": fingerprint(identity, depends, env, salt),
        "dependencies": vars(depends),
        "catalogue": dumps(vars(catalogue), separators=(",", ":")),
    }
    path = identity.file
    text = dumps(data, separators=(",", ":"))
    if len(text) > LARGEST:
        return
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=DRAFT)
    except OSError:
        return
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)  # mkstemp made it with mode 0600
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
    _tidy(folder, time.time())


def fingerprint(
    identity: ServerIdentity, depends: Dependencies, environment: Mapping[str, str], salt: str
) -> dict[str, str]:
    """Everything that the lists depend on, by part, as digests that give no secret away."""
    names = [*depends.variables]
    return {
        "host and Python versions": _digest([FORMAT, VERSION, sys.version, sys.prefix]),
        "Python path": _digest([*sys.path, *_times(_site_folders())]),
        SETTINGS: _digest(_content(identity.source)),
        "project": _digest([identity.root]),
        "environment": _digest([salt, *(f"{n}={environment.get(n)}" for n in names)]),
        "secrets": _digest(
            [
                *(f"{n} {n in environment}" for n in depends.secret_variables),
                *(f"{n} {os.path.exists(n)}" for n in depends.secret_files),
            ]
        ),
        FILES: _digest([*_times(depends.files), *map(names_in, depends.folders)]),
    }


def was_edited(depends: Dependencies, began: float, now: float) -> bool:
    """Whether a file was changed between two moments, while it was loaded perhaps."""
    for name in depends.files:
        try:
            changed = os.stat(name).st_mtime
        except OSError:
            continue
        if began - COARSE <= changed <= now:
            return True
    return False


class _NotOurs(Exception):
    """A file that somebody else could have written."""


def _read_own_file(path: str) -> dict[str, Any]:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(file.fileno())
        if hasattr(os, "getuid") and about.st_uid != os.getuid():
            raise _NotOurs("it belongs to somebody else")
        if stat.S_IMODE(about.st_mode) & 0o022:
            raise _NotOurs("others may write to it")
        if about.st_size > LARGEST:
            raise _NotOurs("it is too large")
        data = loads(file.read())
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("another format")
    return data


def _times(files: Iterable[str]) -> list[str]:
    """Size and time of each file, and of what is not there its absence."""
    found = []
    for name in files:
        try:
            about = os.stat(name)
            found.append(f"{name} {about.st_size} {about.st_mtime_ns} {about.st_ino}")
        except OSError:
            found.append(f"{name} -")
    return found


def names_in(folder: str) -> list[str]:
    """What is in a folder, but for what Python or an editor keeps there for itself."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(name for name in names if name != "__pycache__" and not name.startswith("."))


def _tidy(folder: str, now: float) -> None:
    """Remove what nobody will read: drafts that were never finished, and what is long unused."""
    try:
        for entry in os.scandir(folder):
            limit = OLD_DRAFT if entry.name.startswith(DRAFT) else OLD
            if entry.stat(follow_symlinks=False).st_mtime < now - limit:
                _remove(entry.path)
    except OSError:
        return


def _site_folders() -> list[str]:
    return [name for name in sys.path if name.endswith(("site-packages", "dist-packages"))]


def _content(path: str | Path | None) -> list[str]:
    if path is None:
        return ["none"]
    try:
        with open(path, "rb") as file:
            return [sha256(file.read()).hexdigest()]
    except OSError as error:
        return [type(error).__name__]


def _digest(parts: Sequence[Any]) -> str:
    return sha256(dumps(parts).encode()).hexdigest()[:24]


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
