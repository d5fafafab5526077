"""The tables of mcp-host.toml as frozen models: what may stand in each, and what it means.

Annotations are not kept as texts here: to read them back takes pydantic a fifth of its time.
"""

from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from .secrets import SecretText

PACK_NAME = r"^[a-z][a-z0-9_]{0,31}$"
PROFILE_NAME = r"^[A-Za-z0-9_-]{1,64}$"
RESERVED_PACK_NAME = "host"
SIZE = r"^[0-9]{1,9}(\.[0-9]{1,3})? ?(KiB|MiB|GiB|KB|MB|GB)$"
UNITS = {
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}
SCOPE = r"^(\*|[a-z][a-z0-9_]{0,31}:(read|write))$"
SAFE_URL = r"^(https://|http://(localhost|127\.[0-9.]+|\[::1\])([:/]|$))"
"""A URL whose answer nobody on the way can change: by TLS, or of this machine."""

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
Seconds = Annotated[float, Field(gt=0, le=86400)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class _Table(BaseModel):
    """What all tables share. What checks them is made at the first check, for all at once.

    Defaults are written out, not made by `list` or `dict`: to look at the signature of those takes
    pydantic 3 ms.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _read_texts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {
            key: cls._read_text(key, value) if isinstance(value, SecretText) else value
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
        64, description="Calls that run at once; 256 of each caller wait, more hear `busy`."
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
    max_answer_bytes: Annotated[int, Field(ge=1024)] = Field(
        4 * 1024 * 1024, description="The longest answer of a call that is sent, in bytes."
    )
    state_key: str | None = Field(
        None,
        min_length=32,
        description="Seals questions carried by the client, so that another process can take the "
        "answer; at least 32 characters, from a secret. Without it, each start makes its own.",
    )
    token_budget: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens that all lists may cost a model; `doctor` warns of more."
    )
    expose: Literal["all", "search", "auto"] = Field(
        "all",
        description="What the list of tools shows: all, or four tools that find and call the "
        'others; "auto" shows all as long as they cost no more than `token_budget`.',
    )
    always: list[str] = Field(
        [], description="Tools that are listed whatever `expose` says, as globs of public names."
    )
    confirm: list[str] = Field(
        [],
        description="Tools and prompts that run only once a person has agreed, as globs of "
        "public names.",
    )
    catalogue: bool = Field(
        True, description="Save what clients see first, to show it at once at the next start."
    )
    lane: bool = Field(
        True,
        description="Answer usual requests without the SDK; off, all go through it, with the same "
        "answers. `MCP_HOST_LANE=0` switches it off as well.",
    )
    warm: bool = Field(
        True,
        description="Have one warm process serve all stdio sessions, on Linux. `MCP_HOST_WARM=0` "
        "and `--no-warm` switch it off as well, `MCP_HOST_WARM=1` and `--warm` on.",
    )
    isolation: Literal["thread", "process"] = Field(
        "thread", description="Where packs live that do not say: in threads, or processes."
    )
    telemetry: bool = Field(
        False,
        description="Send spans and durations by OpenTelemetry, as the variables `OTEL_…` say; "
        "with `mcp-host[otel]`.",
    )
    audit: Path | None = Field(
        None,
        strict=False,
        description="The file that gets a line of JSON for every call: who, what, how it ended, "
        "and the shapes of its arguments, never their values.",
    )
    audit_max_bytes: Annotated[int, Field(ge=4096)] = Field(
        10 * 1024 * 1024, description="The size at which the audit begins a new file."
    )
    audit_keep: Annotated[int, Field(ge=0, le=1000)] = Field(
        5, description="How many full files of the audit are kept beside the one at hand."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least level that is logged."
    )
    log_format: Literal["text", "json"] = Field("text", description="How the log is written.")

    @model_validator(mode="after")
    def _has_budget(self) -> Self:
        if self.expose == "auto" and self.token_budget is None:
            raise ValueError('expose = "auto" needs a token_budget')
        return self


class TokenTable(_Table):
    """One of [[http.tokens]]."""

    token: str = Field(min_length=16, description="The bearer token; from a secret.")
    subject: str = Field(min_length=1, description="Who presents it; packs see this as the caller.")
    scopes: list[Annotated[str, Field(pattern=SCOPE)]] = Field(
        [], description="What it may do: `PACK:read`, `PACK:write`, `*`."
    )
    expires: AwareDatetime | None = Field(
        None,
        description="From when on it proves nothing any more, such as `2027-01-31T00:00:00Z`.",
    )


class IssuerTable(_Table):
    """The table [http.auth], or one of [[http.auth]]."""

    issuer: str = Field(
        pattern=SAFE_URL, description="The issuer of tokens, exactly as it names itself in `iss`."
    )
    audience: str = Field(
        min_length=1,
        description="What `aud` of a token must name: this server, best by the URL of its endpoint "
        "as clients know it.",
    )
    jwks_url: str | None = Field(
        None,
        pattern=SAFE_URL,
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


class HttpLimitsTable(_Table):
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


class HttpTable(_Table):
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


class ProfileTable(_Table):
    """One of [profiles.X]."""

    packs: list[Annotated[str, Field(pattern=PACK_NAME)]] | None = Field(
        None, description="The packs to serve, of those that are enabled; else all."
    )
    read_only: bool = Field(False, description="Serve only what is marked read-only.")


class ArgumentTable(_Table):
    """One of [packs.X.tools.T.arguments.A]."""

    value: Any = Field(None, description="What the tool gets where a call does not give it.")
    hidden: bool = Field(
        False, description="Take it from the schema: no call may give it, and `value` counts."
    )
    description: str | None = Field(None, description="What is said of it, in place of its own.")


class ToolTable(_Table):
    """One of [packs.X.tools.T]."""

    timeout: Seconds | None = Field(None, description="Seconds a call of this tool may take.")
    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="What it is called, in place of its own name; the prefix stands before it.",
    )
    description: str | None = Field(None, description="What is said of it, in place of its own.")
    hidden: bool = Field(False, description="Serve the pack as if it had no such tool.")
    cache: Seconds | None = Field(
        None, description="Seconds that its answers are kept; of tools marked read-only alone."
    )
    arguments: dict[str, ArgumentTable] = Field({}, description="Settings of one argument.")


class PackTable(_Table):
    """One of [packs.X]."""

    enabled: bool = Field(True, description="Whether the pack is imported and served.")
    required: bool = Field(False, description="Whether the host ends when the pack fails.")
    distribution: str | None = Field(
        None, description="Which distribution, where several offer a pack of this name."
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="A file of Python that is the pack, in place of an installed one.",
    )
    prefix: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{0,32}$",
        description="What stands before the names of its tools and prompts; the pack's name.",
    )
    timeout: Seconds | None = Field(None, description="Seconds a call of this pack may take.")
    max_concurrency: Count = Field(32, description="Calls of this pack that run at once.")
    include: list[str] = Field(
        [], description="Tools to serve, as globs of their own names; else all."
    )
    exclude: list[str] = Field([], description="Tools to leave out, as globs.")
    read_only: bool = Field(False, description="Serve only what is marked read-only.")
    trust_annotations: bool = Field(
        False,
        description="Go by what a mounted server says of its tools, such as that they only read, "
        "also where nobody has agreed to it with `mcp-host approve`.",
    )
    shared: bool = Field(
        False, description="Serve it beyond this machine although it acts as the server's user."
    )
    isolation: Literal["thread", "process"] | None = Field(
        None,
        description="Where the pack lives: in threads of the host, or in a process of its own; "
        "`[host] isolation` where it does not say.",
    )
    sessions: Literal["shared", "apart"] | None = Field(
        None,
        description="Whether the sessions of the warm host share the pack, opened once; what the "
        "pack declares where it does not say.",
    )
    python: str | None = Field(
        None,
        min_length=1,
        description="The interpreter of an environment of its own; the pack is a process then.",
    )
    memory: str | None = Field(
        None,
        pattern=SIZE,
        description='Memory of its process and those it starts, such as "512MiB"; over it, '
        "the process is ended and started again.",
    )
    cpu: Seconds | None = Field(
        None, description="Seconds of processor that one call in its process may take."
    )
    open_files: Annotated[int, Field(ge=16, le=1_000_000)] | None = Field(
        None, description="Files that its process may have open at once."
    )
    processes: Count | None = Field(
        None, description="Processes that it may have at once, its own among them."
    )
    tools: dict[str, ToolTable] = Field({}, description="Settings of one tool.")
    settings: dict[str, Any] = Field(
        {}, description="The pack's own settings, checked by its model."
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.file is not None and self.distribution is not None:
            raise ValueError("file must not stand beside distribution: a file is the whole pack")
        return self

    @property
    def memory_bytes(self) -> int | None:
        """The memory that its process may use, in bytes."""
        if self.memory is None:
            return None
        number = self.memory.rstrip("KMGiB ")
        return int(float(number) * UNITS[self.memory.removeprefix(number).strip()])


Packs = dict[Annotated[str, Field(pattern=PACK_NAME)], PackTable]
Profiles = dict[Annotated[str, Field(pattern=PROFILE_NAME)], ProfileTable]


class FileTables(_Table):
    """The whole of mcp-host.toml."""

    host: HostTable = Field(default_factory=HostTable.model_construct)
    http: HttpTable = Field(default_factory=HttpTable.model_construct)
    packs: Packs = Field({})
    profiles: Profiles = Field({})


class FileTablesWithoutHttp(_Table):
    """The same where a file has no table [http]: what would check it is 5 ms of a start."""

    host: HostTable = Field(default_factory=HostTable.model_construct)
    packs: Packs = Field({})
    profiles: Profiles = Field({})

    @property
    def http(self) -> HttpTable:
        """The table [http] as it is where nothing is said."""
        return HttpTable.model_construct()
