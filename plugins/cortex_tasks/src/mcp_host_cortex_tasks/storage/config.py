"""The user's settings: `~/.cortex/config.json`, the file and keys of the existing Cortex."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from ..errors import InvalidError, LoginNeededError, NotSetUpError, UnsupportedError
from .hosts import is_loopback

LOCAL = "local"
PROVIDERS = ("github", "gitlab", "gitea")
KEYRING_SERVICE = "cortex-tasks"

Value = str | int | bool | None
FOR = "for"
"""The settings of one host, or of one repository there: `{"HOST/OWNER/NAME": {KEY: VALUE}}`."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: what it is for, how a text becomes its value, and whether it is a secret."""

    about: str
    parse: Callable[[str], Value]
    default: Value = None
    secret: bool = False
    keyed: bool = False  # whether a host or a repository may have one of its own


def _url(text: str) -> str:
    if text == LOCAL:
        return text
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidError(
            f"{text!r} is not an address; write it as http://host:8000/api/v1, or {LOCAL!r}."
        )
    if parts.username or parts.password:
        raise InvalidError("An address holds no user name or password; use 'ctx auth login'.")
    return text.rstrip("/")


def _flag(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "on": True}
    words |= {"false": False, "no": False, "0": False, "off": False}
    if text.lower() not in words:
        raise InvalidError(f"{text!r} is neither true nor false.")
    return words[text.lower()]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= 2**31 - 1):
        raise InvalidError(f"{text!r} is not a whole number from 1.")
    return int(text)


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise InvalidError(f"{text!r} must be one of {', '.join(allowed)}.")
        return text

    return parse


def _plain(text: str) -> str:
    if not text or "\0" in text or text.startswith("-"):
        raise InvalidError(f"{text!r} cannot be used here.")
    return text


KEYS: Mapping[str, Key] = {
    "url": Key("the backend with its prefix, as http://host:8000/api/v1, or 'local'", _url),
    "access_token": Key("the login token; 'ctx auth login' writes it", _plain, secret=True),
    "access_token_url": Key("the backend that the login token is for; login writes it", _url),
    "allow_http": Key(
        "send the login over plain http to a backend elsewhere", _flag, default=False
    ),
    "default_project_id": Key("the project of new tasks", _count),
    "git_main_branch": Key(
        "the branch tasks start from; else the remote's default", _plain, keyed=True
    ),
    "git_provider": Key(
        "the forge, when its address does not tell", _choice(*PROVIDERS), keyed=True
    ),
    "git_api_url": Key(
        "the API of a forge of your own, as https://git.example.com/api/v4", _url, keyed=True
    ),
    "github_token": Key("a token for pull requests on GitHub", _plain, secret=True, keyed=True),
    "gitlab_token": Key("a token for merge requests on GitLab", _plain, secret=True, keyed=True),
    "gitea_token": Key(
        "a token for pull requests on Gitea or Forgejo", _plain, secret=True, keyed=True
    ),
    "show_comments": Key(
        "whose comments on public pull requests are shown: 'writers' or 'all'",
        _choice("writers", "all"),
        default="writers",
        keyed=True,
    ),
    "use_worktree": Key("give each task a worktree of its own", _flag, default=True, keyed=True),
    "worktree_folder": Key(
        "where worktrees go, from the repository; else ../NAME-worktree", _plain, keyed=True
    ),
    "worktree_setup": Key("a command to run in each new worktree, as 'npm ci'", _plain, keyed=True),
    "leave_out": Key(
        "folders, by commas, that pr leaves out and that take no folder",
        _plain,
        default=".tasky/",
        keyed=True,
    ),
    "delete_local_on_done": Key("done deletes the local branch", _flag, default=False, keyed=True),
    "delete_remote_on_done": Key(
        "done deletes the remote branch", _flag, default=False, keyed=True
    ),
    "delete_worktree_on_done": Key("done deletes the worktree", _flag, default=False, keyed=True),
    "default_message": Key(
        "'title': commit with the task's title when no message is given", _choice("title")
    ),
    "keyring": Key("keep the login token in the system's keyring", _flag, default=False),
    "timeout": Key("seconds for a request, and for git to reach a remote", _count, default=20),
    "git_timeout": Key("seconds for a commit or a push with their hooks", _count, default=120),
}


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one user, read once per command."""

    path: Path
    values: Mapping[str, object]

    @property
    def home(self) -> Path:
        """The folder of the settings file, where local tasks and the journal live too."""
        return self.path.parent

    def text(self, key: str) -> str | None:
        """Return a setting that is a text, None when it is not set."""
        value = self.values.get(key, KEYS[key].default)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self._wrong(key, value, "a text")
        return value

    def flag(self, key: str) -> bool:
        """Return a setting that is true or false."""
        value = self.values.get(key, KEYS[key].default)
        if isinstance(value, str):
            return _flag(value)
        if not isinstance(value, bool | None):
            self._wrong(key, value, "true or false")
        return bool(value)

    def number(self, key: str) -> int | None:
        """Return a setting that is a whole number, None when it is not set."""
        value = self.values.get(key, KEYS[key].default)
        if isinstance(value, str):
            return _count(value) if value else None
        if isinstance(value, bool) or not isinstance(value, int | None):
            self._wrong(key, value, "a whole number")
        return value

    def seconds(self, key: str) -> float:
        """Return a setting that is a time limit."""
        return float(self.number(key) or KEYS[key].default or 0)

    def at(self, host: str, path: str) -> "Config":
        """Return the settings as they are for a repository on a host."""
        mine: dict[str, object] = {}
        for place in (host, f"{host}/{path}"):
            mine |= {key: value for key, value in self._of(place).items() if _is_keyed(key)}
        return Config(self.path, {**self.values, **mine}) if mine else self

    def keyed(self, host: str, path: str) -> set[str]:
        """Return the settings that a host or a repository has of its own."""
        return {*self._of(host), *self._of(f"{host}/{path}")}

    @property
    def has_places(self) -> bool:
        """Whether any host or repository has settings of its own."""
        return bool(self.values.get(FOR))

    def _of(self, place: str) -> Mapping[str, object]:
        places = self.values.get(FOR)
        if not isinstance(places, Mapping):
            return {}
        found = places.get(place.lower())
        return found if isinstance(found, Mapping) else {}

    @property
    def url(self) -> str:
        """The backend's address or `local`; raise when nothing is set."""
        url = self.text("url")
        if url is None:
            raise NotSetUpError(
                "No backend is set.",
                reason="no_backend",
                suggestions=[
                    "ctx config set url http://HOST:8000/api/v1",
                    "or, without any server: ctx config set url local",
                ],
            )
        return _url(url)

    def token(self) -> str:
        """Return the login token for the backend that is set.

        Raise `LoginNeededError` when there is none: one token never goes to another host.
        """
        self.refuse_plain_http()
        given_by = self.text("access_token_url")
        elsewhere = given_by is not None and _host(given_by) != _host(self.url)
        if elsewhere and not self.flag("keyring"):
            raise login_needed(
                f"You are logged in to {given_by}, not to {self.url}."
                " Please run 'ctx auth login' first."
            )
        token = keyring_token(self.url) if self.flag("keyring") else self.text("access_token")
        if not token:
            raise login_needed("Not logged in. Please run 'ctx auth login' first.")
        return token

    def refuse_plain_http(self) -> None:
        """Raise where a login would cross a network in the clear."""
        parts = urlsplit(self.url)
        if parts.scheme != "http" or is_loopback(parts.hostname or "") or self.flag("allow_http"):
            return
        raise InvalidError(
            f"{self.url} is plain http: on the way there, anybody could read the login.",
            reason="plain_http",
            suggestions=[
                "Use https: ctx config set url https://…",
                "Or, on a network that you trust: ctx config set allow_http true",
            ],
        )

    def secrets(self) -> list[str]:
        """Every secret that the file holds, to be kept out of all output."""
        places = self.values.get(FOR)
        every = [self.values, *(places.values() if isinstance(places, Mapping) else ())]
        names = [name for name, key in KEYS.items() if key.secret]
        values = (one.get(name) for one in every if isinstance(one, Mapping) for name in names)
        return [value for value in values if isinstance(value, str) and value]

    def _wrong(self, key: str, value: object, what: str) -> NoReturn:
        raise InvalidError(f"{key} in {self.path} should be {what}, not {type(value).__name__}.")


def _is_keyed(key: str) -> bool:
    return key in KEYS and KEYS[key].keyed


def _host(url: str) -> str:
    host = urlsplit(url).hostname or ""
    return "localhost" if is_loopback(host) else host


def config_path() -> Path:
    """Return where the settings are: `$CORTEX_HOME`, else `~/.cortex`."""
    home = os.environ.get("CORTEX_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".cortex") / "config.json"


def read_config(path: Path) -> Config:
    """Read the settings; a missing file is empty settings. Close a file that others could read."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config(path, {})
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"Cannot read {path}: {error}", reason="bad_config") from None
    try:
        values = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise InvalidError(f"{path} is not valid JSON: {error}", reason="bad_config") from None
    if not isinstance(values, dict):
        raise InvalidError(f"{path} should hold a JSON object.", reason="bad_config")
    config = Config(path, values)
    if config.secrets() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)
    return config


def keyring_token(url: str) -> str | None:
    """Return the token that the system's keyring has for a backend."""
    try:
        import keyring  # 66 ms and an extra: only for those who chose it
    except ImportError:
        raise no_keyring() from None
    try:
        return keyring.get_password(KEYRING_SERVICE, url)
    except keyring.errors.KeyringError as error:
        raise UnsupportedError(f"The keyring refuses: {error}", reason="keyring") from None


def login_needed(message: str) -> LoginNeededError:
    """The error for a caller without a token that is accepted."""
    return LoginNeededError(message, reason="login_required", suggestions=["ctx auth login"])


def no_keyring() -> UnsupportedError:
    """The error for a setting that wants a keyring where the extra is not installed."""
    return UnsupportedError(
        "The setting 'keyring' is on, and keyring is not installed.",
        reason="keyring",
        suggestions=[
            "pip install 'mcp-host-cortex-tasks[keyring]'",
            "ctx config set keyring false",
        ],
    )
