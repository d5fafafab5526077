"""The table [http] and those in it: where the host listens, who may call, and how much."""

import re
from collections.abc import Mapping
from itertools import permutations
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, AwareDatetime, Field, field_validator, model_validator

from .table import Count, Seconds, Table

SCOPE = re.compile(r"\*|[a-z][a-z0-9_]{0,31}:(read|write)")


def _scope(text: str) -> str:
    """Raise `ValueError` for what no token can be given."""
    if not SCOPE.fullmatch(text):
        raise ValueError(f"a scope must be PACK:read, PACK:write or *, not {text!r}")
    return text


def _safe_url(text: str) -> str:
    """Raise `ValueError` unless nobody on the way can change what is answered at a URL: by TLS, or
    for it is of this machine."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        is_readable = text.isprintable() and " " not in text and parts.port != 0
    except ValueError:
        host, is_readable = "", False
    is_here = host in ("localhost", "::1") or re.fullmatch(r"127(\.[0-9]+){3}", host)
    is_safe = host and (parts.scheme == "https" or (parts.scheme == "http" and is_here))
    if not is_readable or not is_safe or "@" in parts.netloc:
        raise ValueError(f"it must be an https:// URL, or http:// of this machine, not {text!r}")
    return text


SafeUrl = Annotated[str, AfterValidator(_safe_url)]

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


class TokenTable(Table):
    """One of [[http.tokens]]."""

    token: str = Field(min_length=16, description="The bearer token; from a secret.")
    subject: str = Field(min_length=1, description="Who presents it; packs see this as the caller.")
    scopes: list[Annotated[str, AfterValidator(_scope)]] = Field(
        [], description="What it may do: `PACK:read`, `PACK:write`, `*`."
    )
    expires: AwareDatetime | None = Field(
        None,
        description="From when on it proves nothing any more, such as `2027-01-31T00:00:00Z`.",
    )


class IssuerTable(Table):
    """The table [http.auth], or one of [[http.auth]]."""

    issuer: SafeUrl = Field(
        description="The issuer of tokens, exactly as it names itself in `iss`."
    )
    audience: str = Field(
        min_length=1,
        description="What `aud` of a token must name: this server, best by the URL of its endpoint "
        "as clients know it.",
    )
    jwks_url: SafeUrl | None = Field(
        None,
        description="Where its keys are; what its metadata says, where this does not.",
    )
    algorithms: list[Algorithm] = Field(
        ["RS256", "ES256"], min_length=1, description="How its tokens may be signed."
    )
    user_claim: str = Field(
        "sub", min_length=1, description="The claim that tells whose a token is."
    )
    prefix: str = Field(
        "",
        max_length=64,
        description="What stands before that in the subject, so that nobody else has the same.",
    )


class HttpLimitsTable(Table):
    """The table [http.limits]."""

    sessions: Count = Field(
        100, description="Open sessions of one subject; those without a token are one subject."
    )
    sessions_total: Count = Field(1000, description="Open sessions of all together.")
    calls_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        None,
        description="Calls that one subject may make in a minute; with `mcp-host[limits]`.",
    )
    streams: Count = Field(
        200, description="Open streams of one subject: GET, and `subscriptions/listen`."
    )
    body_bytes: Annotated[int, Field(ge=1024)] = Field(
        64 * 1024 * 1024,
        description="Bytes of requests of one subject that are being answered at once.",
    )
    answer_bytes: Annotated[int, Field(ge=1024)] = Field(
        64 * 1024 * 1024,
        description="Bytes of answers that one subject has not taken yet; then it may ask nothing.",
    )
    replay_bytes: Annotated[int, Field(ge=1024)] = Field(
        16 * 1024 * 1024,
        description="Bytes that are kept of one session for a client whose stream broke.",
    )
    replay_bytes_total: Annotated[int, Field(ge=1024)] = Field(
        128 * 1024 * 1024, description="The same, of all sessions together."
    )
    connections: Count = Field(
        1000,
        description="Open connections; never more than three quarters of the file descriptors "
        "that the server may have.",
    )
    header_timeout: Seconds = Field(
        15,
        description="Seconds in which the header of a request must have come, and the longest "
        "pause in its body.",
    )


class HttpTable(Table):
    """The table [http]."""

    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(
        8000, description="The port to listen on; 0 takes a free one."
    )
    tokens: list[TokenTable] = Field([], description="Who may call.")
    auth: list[IssuerTable] = Field(
        [], description="Issuers of tokens whose users may call: one table, or a list of tables."
    )
    allow_unauthenticated: bool = Field(
        False, description="Serve beyond this machine without tokens: everybody may do everything."
    )
    allowed_hosts: list[str] = Field(
        [],
        description="Host headers to accept besides the address itself, such as `mcp.example.org`.",
    )
    allowed_origins: list[str] = Field(
        [],
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
    drain: Annotated[float, Field(ge=0, le=600)] = Field(
        0,
        description="Seconds for which a server that stops goes on to serve while `/readyz` is "
        "503, so that a load balancer sends requests elsewhere; then it refuses them with 503.",
    )
    metrics: bool = Field(
        False,
        description="Let Prometheus read `/metrics`, with a token that may read the host, where "
        "tokens are wanted; with `mcp-host[metrics]`.",
    )
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None,
        description="Have `/metrics` at this port of this machine instead, without a token; 0 "
        "takes a free one.",
    )
    limits: HttpLimitsTable = Field(
        default_factory=HttpLimitsTable.model_construct, description="How much clients may take up."
    )

    @property
    def is_authenticated(self) -> bool:
        """Whether a caller must present a token."""
        return bool(self.tokens or self.auth)

    @field_validator("auth", mode="before")
    @classmethod
    def _as_list(cls, given: Any) -> Any:
        return [given] if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _names_nobody_twice(self) -> Self:
        """Two subjects must never be the same text, whoever proves them."""
        issuers, prefixes = [one.issuer for one in self.auth], [one.prefix for one in self.auth]
        if len(set(issuers)) < len(issuers):
            raise ValueError("auth: each issuer must stand there once")
        if len(set(prefixes)) < len(prefixes) or (self.tokens and "" in prefixes):
            raise ValueError(
                "auth: prefix must be set, and another one for each issuer, where there are "
                "several or there are tokens of your own as well: else two people may have one name"
            )
        for one, other in permutations(filter(None, prefixes), 2):
            if one.startswith(other):
                raise ValueError(f"auth: prefix {one!r} must not begin with prefix {other!r}")
        for token in self.tokens:
            for prefix in prefixes:
                if token.subject.startswith(prefix):
                    raise ValueError(
                        f"tokens: subject {token.subject!r} must not begin with {prefix!r}, the "
                        "prefix of an issuer"
                    )
        return self
