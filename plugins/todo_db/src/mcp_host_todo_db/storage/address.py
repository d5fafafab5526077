"""Database URLs, as people and hosting providers write them."""

import logging
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ..errors import BadUrlError

log = logging.getLogger(__name__)

FORMS = "postgresql://USER:PASSWORD@HOST/DATABASE or sqlite:///FILE"

# What asyncpg itself reads from a URL.
CONNECTION_KEYS = frozenset(
    {
        "host",
        "port",
        "database",
        "dbname",
        "user",
        "passfile",
        "service",
        "sslmode",
        "sslcert",
        "sslkey",
        "sslrootcert",
        "sslcrl",
        "sslpassword",
        "sslnegotiation",
        "ssl_min_protocol_version",
        "ssl_max_protocol_version",
        "target_session_attrs",
        "krbsrvname",
        "gsslib",
    }
)
# Settings of the session, which it hands on to the server.
SESSION_KEYS = frozenset(
    {
        "application_name",
        "idle_in_transaction_session_timeout",
        "lock_timeout",
        "options",
        "search_path",
        "statement_timeout",
    }
)
# Ours: read here. `ssl` is how asyncpg's and Node's users say `sslmode`.
OWN_KEYS = frozenset({"password", "pgbouncer", "ssl", "connect_timeout"})
# asyncpg has no channel binding. It is asked for by providers' URLs, and a server that insists
# on it refuses by itself.
IGNORED_KEYS = frozenset({"channel_binding"})


@dataclass(frozen=True, slots=True)
class SqliteFile:
    path: Path

    @property
    def place(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """How to reach a PostgreSQL database; `place` is for people and `dsn` holds no password.

    `limits_statements` says that the URL sets a statement_timeout itself.
    """

    place: str
    dsn: str
    user: str | None
    password: str | None = field(repr=False)
    tls: ssl.SSLContext | None
    connect_timeout: float | None
    transaction_pooler: bool
    limits_statements: bool


Address = SqliteFile | PostgresServer


def read_url(url: str) -> Address:
    """Understand a database URL.

    Raises `BadUrlError`, which never shows the URL.
    """
    scheme, colon, rest = url.strip().partition("://")
    dialect = scheme.partition("+")[0].lower()
    if colon and dialect == "sqlite":
        return _sqlite(rest)
    if colon and dialect in {"postgres", "postgresql"}:
        return _postgres(rest)
    raise BadUrlError(f"The database url is not one this pack can use: write {FORMS}")


def _sqlite(rest: str) -> SqliteFile:
    # As SQLAlchemy reads it: nothing is percent-decoded.
    path, _, parameters = rest.removeprefix("/").partition("?")
    _say_left_out(dict(parse_qsl(parameters, keep_blank_values=True)))
    if not path or path == ":memory:":
        raise BadUrlError("The database url names no file: write sqlite:///FILE")
    file = Path(path).expanduser()
    if not file.is_absolute():
        raise BadUrlError(
            "The database url names a relative file, which is another one in every folder:"
            f" write sqlite:///{file.absolute()}"
        )
    return SqliteFile(file)


def _postgres(rest: str) -> PostgresServer:
    try:
        parts = urlsplit(f"postgresql://{rest}")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise _unreadable() from None
    login, _, hosts = parts.netloc.rpartition("@")
    if "@" in f"{parts.path}{parts.fragment}" or not _ports_are_numbers(hosts):
        raise _unreadable()
    user, _, password = login.partition(":")
    options = query.get("options", "")
    return PostgresServer(
        place=hosts or query.get("host") or "localhost",
        dsn=f"postgresql://{hosts}{parts.path}?{urlencode(_for_asyncpg(query))}",
        user=unquote(user) or None,
        password=unquote(password) or query.get("password"),
        tls=_system_tls(query),
        connect_timeout=_seconds(query.get("connect_timeout")),
        transaction_pooler=query.get("pgbouncer", "").lower() == "true",
        limits_statements="statement_timeout" in {*query, *re.findall(r"\w+", options)},
    )


def _unreadable() -> BadUrlError:
    return BadUrlError(
        f"The database url cannot be read: write {FORMS}, with the characters : / ? # @ %"
        " of a user or password percent-encoded"
    )


def _ports_are_numbers(hosts: str) -> bool:
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    return all(port == "" or port.isdecimal() for port in ports)


def _for_asyncpg(query: Mapping[str, str]) -> dict[str, str]:
    """The parameters that asyncpg knows; it would send any other to the server, which refuses."""
    _say_left_out(query.keys() - CONNECTION_KEYS - SESSION_KEYS - OWN_KEYS - IGNORED_KEYS)
    known = {key: query[key] for key in query if key in CONNECTION_KEYS | SESSION_KEYS}
    known.setdefault("application_name", "todo-db")
    if "ssl" in query:
        known.setdefault("sslmode", _sslmode(query["ssl"]))
    if known.get("sslrootcert") == "system":
        del known["sslrootcert"]
    return known


def _say_left_out(parameters: Iterable[str]) -> None:
    names = ", ".join(sorted(parameters))
    if names:
        log.warning("parameters of the database url that mean nothing here: %s", names)


def _sslmode(ssl_value: str) -> str:
    return {"true": "require", "false": "disable"}.get(ssl_value.lower(), ssl_value)


def _system_tls(query: Mapping[str, str]) -> ssl.SSLContext | None:
    """libpq's `sslrootcert=system`, which asyncpg takes for the name of a file."""
    return ssl.create_default_context() if query.get("sslrootcert") == "system" else None


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() and int(text) > 0 else None
