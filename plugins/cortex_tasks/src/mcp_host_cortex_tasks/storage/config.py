"""The user's settings: `~/.cortex/config.json`, the file and keys of the existing Cortex."""

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from mcp_host_cortex_tasks.errors import Busy, Invalid, LoginNeeded, Unsupported

LOCAL = "local"
PROVIDERS = ("github", "gitlab", "gitea")
KEYRING_SERVICE = "cortex-tasks"

Value = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: what it is for, how a text becomes its value, and whether it is a secret."""

    about: str
    parse: Callable[[str], Value]
    default: Value = None
    secret: bool = False


def _url(text: str) -> str:
    if text == LOCAL:
        return text
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid(
            f"{text!r} is not an address; write it as http://host:8000/api/v1, or {LOCAL!r}."
        )
    if parts.username or parts.password:
        raise Invalid("An address holds no user name or password; use 'ctx auth login'.")
    return text.rstrip("/")


def _flag(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "on": True}
    words |= {"false": False, "no": False, "0": False, "off": False}
    if text.lower() not in words:
        raise Invalid(f"{text!r} is neither true nor false.")
    return words[text.lower()]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= 2**31 - 1):
        raise Invalid(f"{text!r} is not a whole number from 1.")
    return int(text)


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise Invalid(f"{text!r} must be one of {', '.join(allowed)}.")
        return text

    return parse


def _plain(text: str) -> str:
    if not text or "\0" in text or text.startswith("-"):
        raise Invalid(f"{text!r} cannot be used here.")
    return text


KEYS: Mapping[str, Key] = {
    "url": Key("the backend with its prefix, as http://host:8000/api/v1, or 'local'", _url),
    "access_token": Key("the login token; 'ctx auth login' writes it", _plain, secret=True),
    "default_project_id": Key("the project of new tasks", _count),
    "git_main_branch": Key("the branch tasks start from; else the remote's default", _plain),
    "git_provider": Key("the forge, when its address does not tell", _choice(*PROVIDERS)),
    "git_api_url": Key("the API of a forge of your own, as https://git.example.com/api/v4", _url),
    "github_token": Key("a token for pull requests on GitHub", _plain, secret=True),
    "gitlab_token": Key("a token for merge requests on GitLab", _plain, secret=True),
    "gitea_token": Key("a token for pull requests on Gitea or Forgejo", _plain, secret=True),
    "use_worktree": Key("give each task a worktree of its own", _flag, default=False),
    "delete_local_on_done": Key("done deletes the local branch", _flag, default=False),
    "delete_remote_on_done": Key("done deletes the remote branch", _flag, default=False),
    "delete_worktree_on_done": Key("done deletes the worktree", _flag, default=False),
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

    @property
    def url(self) -> str:
        """The backend's address or `local`; raise when nothing is set."""
        url = self.text("url")
        if url is None:
            raise Invalid(
                "No backend is set.",
                reason="no_backend",
                suggestions=[
                    "ctx config set url http://HOST:8000/api/v1",
                    "or, without any server: ctx config set url local",
                ],
            )
        return _url(url)

    def token(self) -> str:
        """Return the login token; raise `LoginNeeded` when there is none."""
        token = keyring_token(self.url) if self.flag("keyring") else self.text("access_token")
        if not token:
            raise login_needed("Not logged in. Please run 'ctx auth login' first.")
        return token

    def secrets(self) -> list[str]:
        """Every secret that the file holds, to be kept out of all output."""
        values = (self.values.get(name) for name, key in KEYS.items() if key.secret)
        return [value for value in values if isinstance(value, str) and value]

    def _wrong(self, key: str, value: object, what: str) -> NoReturn:
        raise Invalid(f"{key} in {self.path} should be {what}, not {type(value).__name__}.")


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
        raise Invalid(f"Cannot read {path}: {error}", reason="bad_config") from None
    try:
        values = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise Invalid(f"{path} is not valid JSON: {error}", reason="bad_config") from None
    if not isinstance(values, dict):
        raise Invalid(f"{path} should hold a JSON object.", reason="bad_config")
    config = Config(path, values)
    if config.secrets() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)
    return config


def set_value(path: Path, key: str, text: str | None) -> Value:
    """Set one setting from its text (None removes it), keep all others, return the value."""
    value = None if text is None else _parsed(key, text)
    with _changing(path) as values:
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return value


def keep_token(config: Config, token: str | None) -> None:
    """Keep the login token where the settings say; None forgets it in both places."""
    if config.flag("keyring"):
        _keyring_store(config.url, token)
        token = None
    with _changing(config.path) as values:
        values.pop("access_token", None)
        if token is not None:
            values["access_token"] = token


def keyring_token(url: str) -> str | None:
    """Return the token that the system's keyring has for a backend."""
    try:
        import keyring  # 66 ms and an extra: only for those who chose it
    except ImportError:
        raise _no_keyring() from None
    try:
        return keyring.get_password(KEYRING_SERVICE, url)
    except keyring.errors.KeyringError as error:
        raise Unsupported(f"The keyring refuses: {error}", reason="keyring") from None


def login_needed(message: str) -> LoginNeeded:
    """The error for a caller without a token that is accepted."""
    return LoginNeeded(message, reason="login_required", suggestions=["ctx auth login"])


def _keyring_store(url: str, token: str | None) -> None:
    try:
        import keyring
    except ImportError:
        raise _no_keyring() from None
    try:
        if token is not None:
            keyring.set_password(KEYRING_SERVICE, url, token)
        elif keyring.get_password(KEYRING_SERVICE, url) is not None:
            keyring.delete_password(KEYRING_SERVICE, url)
    except keyring.errors.KeyringError as error:
        raise Unsupported(f"The keyring refuses: {error}", reason="keyring") from None


def _no_keyring() -> Unsupported:
    return Unsupported(
        "The setting 'keyring' is on, and keyring is not installed.",
        reason="keyring",
        suggestions=[
            "pip install 'mcp-host-cortex-tasks[keyring]'",
            "ctx config set keyring false",
        ],
    )


def _parsed(key: str, text: str) -> Value:
    if key not in KEYS:
        from difflib import get_close_matches

        near = get_close_matches(key, KEYS, 1)
        raise Invalid(
            f"There is no setting {key!r}.",
            suggestions=[f"Did you mean {near[0]}?"] if near else ["ctx config keys"],
        )
    try:
        return KEYS[key].parse(text)
    except Invalid as error:
        shown = "that value" if KEYS[key].secret else error.message
        raise Invalid(
            f"{key}: {shown}" if shown == error.message else f"{key}: {shown} cannot be used."
        ) from None


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, object]]:
    """Yield the settings to change, locked against another `ctx`, and write them whole."""
    from filelock import FileLock, Timeout  # 37 ms that reading never pays

    from mcp_host_cortex_tasks.storage.files import private_folder, replace_text

    private_folder(path.parent)
    try:
        with FileLock(path.with_name("config.lock"), timeout=10):
            values = dict(read_config(path).values)
            yield values
            replace_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    except Timeout:
        raise Busy(f"Another ctx is writing {path}.", reason="config_locked") from None
