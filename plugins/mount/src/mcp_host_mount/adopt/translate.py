"""A client's entry in the words of the host's settings, and what does not travel with it."""

from __future__ import annotations

import base64
import errno
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mcp_host import ClientServer

from .secrets import has_secret_address, is_secret, is_secret_header, looks_secret

REFERENCE = re.compile(r"\$\{([^}]*)\}")
SECRET_OF_CONTINUE = re.compile(r"\$\{\{\s*(?:secrets|inputs)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?")
LONGEST_FILE = 1024 * 1024
"""Bytes of an `envFile`."""
NOT_WAITING = getattr(os, "O_NONBLOCK", 0)
Keep = Callable[[str, str], Path]
"""Keeps a secret, by a name for its file; returns the file."""


@dataclass
class Adopted:
    """What becomes of one server: its pack's name and table, and what a person should know.

    `problem` says why it cannot be adopted; then there is no table.
    """

    pack: str
    server: ClientServer
    table: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    project: Path = Path()

    @property
    def what(self) -> str:
        """What it starts or reaches, in a line without secrets."""
        if self.server.url:
            parts = urlsplit(self.server.url)
            return urlunsplit((parts.scheme, parts.hostname or "", "", "", ""))
        words = self.table.get("command", [self.server.command])
        return " ".join(word if isinstance(word, str) else "…" for word in words)


class Translation:
    """Translates the entries of one client's file.

    `project` is the folder that `${workspaceFolder}` means, `environment` has the variables that
    are set now, and `keep` keeps secrets.
    """

    def __init__(self, project: Path, environment: Mapping[str, str], keep: Keep) -> None:
        self._project = project
        self._environment = environment
        self._keep = keep

    def adopted(self, pack: str, server: ClientServer) -> Adopted:
        """Return what becomes of a server under the name of a pack."""
        made = Adopted(pack, server, project=self._project)
        if why := _why_not(server):
            made.problem = why
            return made
        try:
            if server.url:
                made.table = self._remote(made)
            else:
                made.table = self._command(made)
        except _CannotTranslateError as error:
            made.problem = str(error)
        return made

    def _command(self, made: Adopted) -> dict[str, Any]:
        server = made.server
        words = [server.command, *server.arguments]
        table: dict[str, Any] = {"command": [self._word(made, words, n) for n in range(len(words))]}
        variables = {**self._env_file(made), **server.environment}
        env = {name: self._variable(made, name, value) for name, value in variables.items()}
        for name in _names(server.entry.get("env_vars")):
            env.setdefault(name, {"env": name, "default": ""})
        for name in _names(server.entry.get("env_keys")):  # Goose has their values in its keyring
            env.setdefault(name, self._named(made, name))
        if env:
            table["env"] = env
        if server.folder:
            table["cwd"] = self._plain(made, server.folder)
        return table

    def _remote(self, made: Adopted) -> dict[str, Any]:
        server = made.server
        url, headers = server.url, {**_headers_by_name(server.entry), **server.headers}
        parts = urlsplit(url)
        if parts.username is not None:
            login = f"{parts.username}:{parts.password or ''}".encode()
            headers.setdefault("Authorization", f"Basic {base64.b64encode(login).decode()}")
            url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
            made.notes.append("the login in its address is a header now")
        table: dict[str, Any] = {"url": self._value(made, "url", url, has_secret_address(url))}
        kept = {
            name: self._value(made, name, value, is_secret_header(name, value))
            for name, value in headers.items()
        }
        if kept:
            table["headers"] = kept
        if str(server.entry.get("type", server.entry.get("transport", ""))).lower() == "sse":
            table["transport"] = "sse"
        if not any(name.lower() == "authorization" for name in headers):
            made.notes.append("where it asks for a login, the client's login does not travel")
        return table

    def _word(self, made: Adopted, words: list[str], number: int) -> Any:
        """One word of a command; the value of an option goes by the option's name as well."""
        word = words[number]
        option, equals, value = word.partition("=")
        if option.startswith("-") and equals:
            secret = is_secret(option, value) or (_is_of_header(option) and _is_header(value))
            return self._value(made, option.strip("-"), word, secret)
        before = words[number - 1] if number else ""
        named = before if before.startswith("-") and "=" not in before else ""
        is_value = bool(named) and not word.startswith("-")
        secret = is_secret(named, word) if is_value else looks_secret(word)
        if is_value and _is_of_header(named):
            secret = _is_header(word)
        return self._value(made, named.strip("-") or f"argument-{number}", word, secret)

    def _variable(self, made: Adopted, name: str, value: str) -> Any:
        return self._value(made, name, value, is_secret(name, value))

    def _value(self, made: Adopted, name: str, value: str, secret: bool) -> Any:
        """A value as the settings have it: plain, a variable, or a file that keeps a secret."""
        value = SECRET_OF_CONTINUE.sub(r"${\1}", value)
        whole = REFERENCE.fullmatch(value)
        if whole and (named := self._named(made, whole[1])) is not None:
            return named
        if REFERENCE.search(value):
            value, has_variable = self._filled(made, value)
            secret = secret or has_variable
        if not secret:
            return value
        file = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{made.pack}.{name}")
        return {"file": str(self._keep(file, value))}

    def _named(self, made: Adopted, reference: str) -> dict[str, str] | None:
        """A whole value that is a variable, as the settings name it; None where it is another."""
        if reference.startswith("input:"):
            variable = re.sub(r"[^A-Za-z0-9]+", "_", reference.removeprefix("input:")).upper()
            made.notes.append(
                f"the client asks its user for {reference.removeprefix('input:')}: set the "
                f"variable {variable} where the host runs"
            )
            return {"env": variable, "default": ""}
        found = VARIABLE.fullmatch(reference)
        if found is None or self._of_editor(reference) is not None:
            return None
        if found[2] and is_secret(found[1], found[2]):
            return None  # what stands in its place is no word for the settings
        if found[2] is None and found[1] not in self._environment:
            made.notes.append(f"the variable {found[1]} is not set here: it is empty until it is")
        return {"env": found[1], "default": found[2] or ""}

    def _filled(self, made: Adopted, value: str) -> tuple[str, bool]:
        """A text with its references filled in; and whether variables were among them."""
        names: list[str] = []

        def fill(found: re.Match[str]) -> str:
            known = self._of_editor(found[1])
            if known is not None:
                return known
            variable = VARIABLE.fullmatch(found[1])
            if variable is None:
                raise _CannotTranslateError(f"{found[0]} in it cannot be translated")
            text = self._environment.get(variable[1], variable[2])
            if text is None:
                raise _CannotTranslateError(
                    f"it needs the variable {variable[1]}, which is not set here"
                )
            names.append(variable[1])
            return text

        filled = REFERENCE.sub(fill, value)
        if names:
            made.notes.append(f"what {', '.join(names)} was now is kept; it is not read again")
        return filled, bool(names)

    def _plain(self, made: Adopted, value: str) -> str:
        return self._filled(made, value)[0] if REFERENCE.search(value) else value

    def _of_editor(self, reference: str) -> str | None:
        """What a reference means that editors have, such as `${workspaceFolder}`."""
        if reference in ("workspaceFolder", "workspaceRoot", "cwd"):
            return str(self._project)
        if reference in ("workspaceFolderBasename",):
            return self._project.name
        if reference in ("userHome", "HOME"):
            return str(Path.home())
        return os.sep if reference in ("pathSeparator", "/") else None

    def _env_file(self, made: Adopted) -> dict[str, str]:
        """The variables of the file that an entry names."""
        named = made.server.entry.get("envFile")
        if not isinstance(named, str) or not named:
            return {}
        path = self._project / Path(self._plain(made, named)).expanduser()
        try:
            text = _text_of(path)
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise _CannotTranslateError(f"its envFile {path} cannot be read: {why}") from None
        made.notes.append(f"what stands in {path} now is kept; it is not read again")
        return dict(_assignments(text))


def _headers_by_name(entry: Mapping[str, Any]) -> dict[str, str]:
    """The headers that an entry has elsewhere: by variables as in Codex, or among its options."""
    options = entry.get("requestOptions")
    among = options.get("headers") if isinstance(options, Mapping) else None
    found = {str(k): str(v) for k, v in among.items()} if isinstance(among, Mapping) else {}
    bearer, named = entry.get("bearer_token_env_var"), entry.get("env_http_headers")
    if isinstance(bearer, str) and bearer:
        found["Authorization"] = f"Bearer ${{{bearer}}}"
    if isinstance(named, Mapping):
        found.update({str(name): f"${{{variable}}}" for name, variable in named.items()})
    return found


def _names(given: Any) -> list[str]:
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


class _CannotTranslateError(Exception):
    """Something of an entry has no counterpart; says what."""


def _text_of(path: Path) -> str:
    """Read a file of usual kind and size; one that is a pipe or a device is never waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | NOT_WAITING), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise OSError(errno.EFBIG, f"it is longer than {LONGEST_FILE} bytes")
    return data.decode()


def _is_of_header(option: str) -> bool:
    return option == "-H" or "header" in option.lower()


def _is_header(word: str) -> bool:
    """Whether a word is a header that is a secret."""
    name, _, value = word.partition(":")
    return is_secret_header(name, value.strip())


def _assignments(text: str) -> list[tuple[str, str]]:
    """The variables of a file with a `NAME=value` in each line."""
    found = []
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            value = value.strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            found.append((name.strip(), value))
    return found


def _why_not(server: ClientServer) -> str:
    """Why a server cannot be adopted at all; empty where it can."""
    if not server.url and not server.command:
        return "it says neither a command nor an address"
    names = {Path(word.replace("\\", "/")).name for word in (server.command, *server.arguments)}
    if names & {"mcp-host", "mcp-host.exe", "mcp_host"}:
        return "it is an mcp-host itself"
    if server.url and not server.url.startswith(("http://", "https://", "${")):
        return f"its address is none of HTTP: {server.url.partition(':')[0]}"
    return ""


def pack_name(name: str) -> str:
    """Return the nearest name that a pack may have."""
    made = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:32].rstrip("_")
    if not made or not made[0].isalpha():
        made = f"s_{made}"[:32].rstrip("_")
    return "host_server" if made == "host" else made
