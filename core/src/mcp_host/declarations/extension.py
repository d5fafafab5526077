"""Protocol extensions (SEP-2133): what a pack serves beside the protocol's own methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ..startup.dataclass import dataclass
from .content import Wire, compact
from .contribution import Function, words_of
from .errors import DeclarationError
from .tool import Tool

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+/[A-Za-z0-9._-]+")
_METHOD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
SPECIFIED = (
    "initialize",
    "ping",
    "server/",
    "tools/",
    "prompts/",
    "resources/",
    "completion/",
    "logging/",
    "subscriptions/",
    "sampling/",
    "elicitation/",
    "roots/",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/",
)
"""What the names of the protocol's own methods are or begin with: no extension may have these."""
EXTENDING = frozenset(("resources/directory/read",))
"""Methods of published extensions that are called as if they were the protocol's own."""


@dataclass(frozen=True)
class Method(Tool):
    """A method of an extension: a request that a client sends, or a notification.

    The parameters of the request are the arguments of the function; what it returns, an object, is
    the result. `timeout` is in seconds. One that is not `read_only` needs the caller's write scope.
    `named_by` is the parameter that the header `Mcp-Name` repeats over HTTP, as 2026-07-28 has it
    for names; a request where the two differ is refused.
    """

    named_by: str | None = None

    def answer(self, value: Any, name: str = "") -> Wire:
        """What the function returned, as the result of the request."""
        if value is None:
            return {}
        plain = self.signature.output.plain(value) if self.signature.output else value
        if not isinstance(plain, Mapping):
            raise TypeError(f"{self.name} must return an object, not {type(value).__name__}")
        return dict(plain)

    def written(self, value: Any) -> None:
        """As `Contribution.written`: of nothing, for what is returned is the result itself."""


@dataclass(frozen=True)
class LongCalls:
    """How an extension takes over calls of tools that run long: each gets a handle and goes on.

    The host calls three methods of the pack, which no client can call. `begin(tool, limit,
    has_output_schema)` keeps a record of a call and returns `{"handle": …, "answer": …}`: the
    answer is what the client gets in place of the result. The context's caller is the call's, who
    may lack the extension. What it raises leaves the call where it is. `tell(handle, events)` hears
    in order what the call does: objects with one of `progress`, `log`, `questions`, `result`,
    `error` and `cancelled`, the last three of which end it. `steer()` waits until something is
    wanted of calls behind handles and returns `{"cancel": [handle], "answers": {handle: {question:
    answer}}}`, or `{}` after a while.

    Clients that have the extension get a handle when a call has run for `after` seconds; others
    when its deadline comes, unless `without_extension` is False. From then on the call may run for
    `limit` seconds. The globs match public names: of tools for which the extension is `required`,
    so that clients of 2026-07-28 without it are refused and others get their handle soon; of tools
    whose questions are `asked_behind` the handle, not before it; and of tools that `never` get one.
    """

    begin: Method
    tell: Method
    steer: Method
    after: float = 5.0
    limit: float = 3600.0
    without_extension: bool = True
    required: Sequence[str] = ()
    asked_behind: Sequence[str] = ()
    never: Sequence[str] = ()

    @property
    def methods(self) -> tuple[Method, Method, Method]:
        """The methods that the host calls."""
        return self.begin, self.tell, self.steer


@dataclass(frozen=True)
class Subscriptions:
    """What clients follow by `subscriptions/listen`, beside lists and resources.

    Under `key` a client lists names of its own choice, such as ids. The host asks `agree(names)`
    which of them this caller may follow, `{"names": [...]}`; no client can call it. For each that
    is agreed to, it calls `get`, a method of the extension that takes the name as its `named_by`,
    and sends what that returns as `notification`: once at first, and whenever the pack says
    `pack.changed(f"{key}:{name}")`. A client without the extension is refused.
    """

    key: str
    notification: str
    agree: Method
    get: Method

    def verify(self) -> None:
        """`DeclarationError` where it cannot be served."""
        if not isinstance(self.get, Method) or self.get.named_by is None:
            raise DeclarationError("get of Subscriptions must be a @method with named_by")
        if not isinstance(self.key, str) or self.key in _FILTER or not self.key.isidentifier():
            raise DeclarationError(f"key of Subscriptions must be a new name, not {self.key!r}")


_FILTER = (
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
    "resourceSubscriptions",
)


@dataclass(frozen=True)
class Extension:
    """A protocol extension that a pack serves.

    `identifier` is what clients know it by, such as "com.example/weather"; `settings` are told to
    them beside it. `methods` are the requests that clients send, and `notifications` those that
    they send without waiting for an answer. `sends` names the notifications that running calls
    send to clients that have the extension, by `Context.notify`. `long_calls` lets it give handles
    to calls of tools that run long; the first pack of the settings that has it does so for all.
    `skills_at` is the URI at which the pack's resources give the SKILL.md of a skill of any pack,
    with `{pack}` and `{name}`: by it the host lists each skill among the resources.
    `subscriptions` has clients follow what is named by `subscriptions/listen`.
    """

    identifier: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    methods: Sequence[Method] = ()
    notifications: Sequence[Method] = ()
    sends: Sequence[str] = ()
    long_calls: LongCalls | None = None
    skills_at: str = ""
    subscriptions: Subscriptions | None = None

    @property
    def functions(self) -> tuple[Method, ...]:
        """Everything of the extension that is called in the pack."""
        own = self.long_calls.methods if self.long_calls is not None else ()
        followed = (self.subscriptions.agree,) if self.subscriptions is not None else ()
        return (*self.methods, *self.notifications, *own, *followed)

    def verify(self) -> None:
        """`DeclarationError` where it cannot be served; its methods verify themselves."""
        if not isinstance(self.identifier, str) or not _IDENTIFIER.fullmatch(self.identifier):
            raise DeclarationError(
                "the identifier of an extension must be like 'com.example/weather', not "
                f"{self.identifier!r}"
            )
        try:
            compact(dict(self.settings)).encode()
        except (TypeError, ValueError) as error:
            raise DeclarationError(
                f"{self.identifier}: settings must be an object of JSON: {error}"
            ) from error
        if self.long_calls is not None and not isinstance(self.long_calls, LongCalls):
            raise DeclarationError(f"{self.identifier}: long_calls must be a LongCalls")
        if self.skills_at and not all(part in self.skills_at for part in ("{pack}", "{name}")):
            raise DeclarationError(
                f"{self.identifier}: skills_at must name {{pack}} and {{name}}, as in "
                "'skill://{pack}/{name}/SKILL.md'"
            )
        if self.subscriptions is not None:
            if not isinstance(self.subscriptions, Subscriptions):
                raise DeclarationError(f"{self.identifier}: subscriptions must be a Subscriptions")
            self.subscriptions.verify()
            self._verify_name(self.subscriptions.notification)
            if self.subscriptions.get not in self.methods:
                raise DeclarationError(
                    f"{self.identifier}: get of subscriptions must be one of its methods"
                )
        for one in self.functions:
            if not isinstance(one, Method):
                raise DeclarationError(
                    f"{self.identifier}: methods are made with @method, and {one!r} is not"
                )
            self._verify_name(one.name)
            if one.signature.questions:
                raise DeclarationError(f"{one.name}: a method of an extension asks nobody")
        if isinstance(self.sends, str):
            raise DeclarationError(f"{self.identifier}: `sends` must be a list of names")
        for name in self.sends:
            self._verify_name(name)

    def _verify_name(self, name: object) -> None:
        is_name = isinstance(name, str) and _METHOD.fullmatch(name)
        is_own = name in EXTENDING or not str(name).startswith(SPECIFIED)
        if not is_name or not is_own:
            raise DeclarationError(
                f"{self.identifier}: the method {name!r} must have a name of its own, "
                "such as 'com.example/forecast'"
            )


def method(
    name: str,
    *,
    read_only: bool = False,
    idempotent: bool | None = None,
    timeout: float | None = None,
    named_by: str | None = None,
) -> Callable[[Function], Method]:
    """Make a method of a function: its parameters are those of the request."""

    def make(function: Function) -> Method:
        return Method(
            **words_of(function, name, None, None, (), None),
            read_only=read_only,
            idempotent=idempotent,
            timeout=timeout,
            named_by=named_by,
        )

    return make
