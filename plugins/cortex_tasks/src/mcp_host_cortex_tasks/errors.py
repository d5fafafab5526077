"""What can go wrong: what the host calls it, what `ctx` ends with, and what to do about it.

CortexError                  internal_error            1
├── InvalidError             validation_error          2
├── LoginNeededError         authentication_required   3
├── NotFoundError            not_found                 4
├── NotAllowedError          permission_denied         5
├── RefusedError             conflict                  6
├── UnavailableError         unavailable               7
│   └── PendingError         unavailable              10
├── TimedOutError            timeout                   8
├── BusyError                busy                      9
└── UnsupportedError         unsupported              11
"""

from collections.abc import Iterable, Mapping

Facts = Mapping[str, object]


class CortexError(Exception):
    """Anything Cortex reports: one sentence for people, `reason` as a stable word for programs.

    `code` is one of the host's codes; `exit_code` is what `ctx` ends with.
    """

    code = "internal_error"
    exit_code = 1
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        suggestions: Iterable[str] = (),
        details: Facts | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions)
        self.details: dict[str, object] = dict(details or {})
        if reason is not None:
            self.details.setdefault("reason", reason)

    @property
    def reason(self) -> str | None:
        """The stable word that says which case this is."""
        reason = self.details.get("reason")
        return reason if isinstance(reason, str) else None


class InvalidError(CortexError):
    """What was given is wrong, whatever the state of the world."""

    code = "validation_error"
    exit_code = 2


class LoginNeededError(CortexError):
    """There is no token, or the backend or forge does not accept it."""

    code = "authentication_required"
    exit_code = 3


class NotFoundError(CortexError):
    """The task, the repository or the file is not there."""

    code = "not_found"
    exit_code = 4


class NotAllowedError(CortexError):
    """The caller is known and may not do this."""

    code = "permission_denied"
    exit_code = 5


class RefusedError(CortexError):
    """The present state forbids it: git, the task or the evidence says no."""

    code = "conflict"
    exit_code = 6


class UnavailableError(CortexError):
    """Somebody else's service cannot be reached or answers nonsense; later may be better."""

    code = "unavailable"
    exit_code = 7
    retryable = True


class NotSetUpError(UnavailableError):
    """What is needed was never set up: a person must do it first."""

    retryable = False


class TimedOutError(CortexError):
    """A git command or a request took longer than it may."""

    code = "timeout"
    exit_code = 8
    retryable = True


class BusyError(CortexError):
    """A service asks to be left alone for a while, or another `ctx` is at work here."""

    code = "busy"
    exit_code = 9
    retryable = True


class PendingError(UnavailableError):
    """The local part is done and the rest waits; running the same command again finishes it.

    `details` has `done` and `pending`, lists of sentences.
    """

    exit_code = 10


class UnsupportedError(CortexError):
    """This machine or installation lacks what is needed: git, an extra, a platform's ability."""

    code = "unsupported"
    exit_code = 11


EVERY_CLASS: tuple[type[CortexError], ...] = (
    InvalidError,
    LoginNeededError,
    NotFoundError,
    NotAllowedError,
    RefusedError,
    TimedOutError,
    BusyError,
    UnavailableError,
    UnsupportedError,
)


def by_code(code: str) -> type[CortexError]:
    """Return the class for one of the host's codes; `CortexError` for one that has no class."""
    return next((kind for kind in EVERY_CLASS if kind.code == code), CortexError)
