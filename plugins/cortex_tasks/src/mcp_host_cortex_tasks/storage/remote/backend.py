"""Requests to a Cortex backend: JSON in, JSON out.

On `urllib`, because every `ctx tasks list` pays for this import.
"""

import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from functools import cached_property
from typing import IO, Any
from urllib.parse import urlencode, urljoin, urlsplit

from ...errors import (
    BusyError,
    CortexError,
    InvalidError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    TimedOutError,
    UnavailableError,
)
from ...model.parsing import bad_answer
from ...model.redaction import redact
from ..config import login_needed
from ..hosts import is_loopback
from ..retry import retry_after
from ..tasks import CHANGED_MEANWHILE

MAX_ANSWER = 16 * 1024 * 1024
MAX_REDIRECTS = 3
_NO_LOGIN = ("Could not validate credentials", "Not authenticated")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to us: urllib would carry the token to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


class _LateHttps(urllib.request.HTTPSHandler):
    """Reads the certificates when an https address is first opened, and not for http.

    urllib of Python 3.12 and newer reads them for every opener, which takes 26 ms.
    """

    def __init__(self) -> None:
        urllib.request.AbstractHTTPHandler.__init__(self)

    @cached_property
    def _ready(self) -> urllib.request.HTTPSHandler:
        return urllib.request.HTTPSHandler()

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self._ready.https_open(req)


class Backend:
    """One Cortex backend: JSON in, JSON out, every failure one of ours."""

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 20) -> None:
        self.url = url.rstrip("/") + "/"
        self._token = token
        self._timeout = timeout

    @cached_property
    def _opener(self) -> urllib.request.OpenerDirector:
        here = is_loopback(urlsplit(self.url).hostname or "")
        direct = [urllib.request.ProxyHandler({})] if here else []  # a proxy is elsewhere
        return urllib.request.build_opener(_NoRedirect, _LateHttps, *direct)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> object:
        """Send one request and return its JSON, None when there is none. Wait once if asked to."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"Accept": "application/json", "User-Agent": "ctx", **(headers or {})}
        if data is not None:
            sent["Content-Type"] = "application/json"
        if form is not None:
            data = urlencode(form).encode()
        if self._token is not None:
            sent["Authorization"] = f"Bearer {_header(self._token)}"
        deadline = time.monotonic() + self._timeout
        status, answered, text = self._send(method, self.url + path, data, sent, deadline)
        wait = retry_after(answered.get("Retry-After"))
        if status in (429, 503) and wait is not None and time.monotonic() + wait < deadline:
            time.sleep(wait)
            status, answered, text = self._send(method, self.url + path, data, sent, deadline)
        if 200 <= status < 300:
            return _json(text, answered.get("Content-Type"))
        raise self._error(status, answered, text)

    def _send(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], deadline: float
    ) -> tuple[int, Message, bytes]:
        for _ in range(MAX_REDIRECTS + 1):
            request = urllib.request.Request(url, data, dict(headers), method=method)  # noqa: S310  the settings allow http and https only
            status, answered, text = self._exchange(request, deadline)
            if status not in (301, 302, 303, 307, 308):
                return status, answered, text
            onward = urljoin(url, answered.get("Location") or "")
            if _origin(onward) != _origin(url):
                raise UnavailableError(
                    f"The backend at {_place(url)} sends us on to {_place(onward)};"
                    " the token is not sent along.",
                    reason="redirected",
                    suggestions=["If that is the right address: ctx config set url …"],
                )
            if status not in (307, 308) and method != "GET":
                raise bad_answer(f"a {method} is redirected with {status}")
            url = onward
        raise bad_answer("it redirects in a circle")

    def _exchange(
        self, request: urllib.request.Request, deadline: float
    ) -> tuple[int, Message, bytes]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._late()
        try:
            with self._opener.open(request, timeout=left) as answer:
                return answer.status, answer.headers, self._read(answer, deadline)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, self._read(error, deadline)
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._late() from None
            raise self._unreachable(error.reason) from None
        except TimeoutError:
            raise self._late() from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise self._unreachable(error) from None

    def _read(self, answer: IO[bytes], deadline: float) -> bytes:
        """Read an answer that ends in time and is not larger than any list of tasks may be."""
        pieces: list[bytes] = []
        size = 0
        read = getattr(
            answer, "read1", answer.read
        )  # what has come, so that drips meet the deadline
        while piece := read(64 * 1024):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_ANSWER:
                raise bad_answer(f"it is larger than {MAX_ANSWER // 2**20} MiB")
            if time.monotonic() > deadline:
                raise self._late()
        if getattr(answer, "length", None):
            raise self._unreachable("its answer broke off")
        return b"".join(pieces)

    def _late(self) -> TimedOutError:
        return TimedOutError(
            f"The backend at {_place(self.url)} did not answer within {self._timeout:g} s.",
            reason="backend_timeout",
        )

    def _unreachable(self, cause: object) -> UnavailableError:
        if isinstance(cause, socket.gaierror):
            cause = "its name cannot be resolved"
        said = redact(str(cause) or repr(cause))
        return UnavailableError(
            f"The backend at {_place(self.url)} cannot be reached: {said}",
            reason="backend_unreachable",
            suggestions=["Check the address: ctx config get url"],
        )

    def _error(self, status: int, headers: Message, text: bytes) -> CortexError:
        detail = _detail(text)
        facts: dict[str, object] = {"status": status}
        if status == 401 or (status == 403 and detail in _NO_LOGIN):
            said = detail or "The backend does not accept the login."
            return login_needed(f"{said} Please run 'ctx auth login' first.")
        if status in (429, 503):
            facts["retry_after"] = retry_after(headers.get("Retry-After"))
            return BusyError(
                detail or f"The backend is busy ({status}).", reason="busy", details=facts
            )
        if status >= 500 or status < 400:
            said = f": {detail}" if detail else ""
            return UnavailableError(
                f"The backend at {_place(self.url)} failed with {status}{said}",
                reason="backend_failed",
                details=facts,
            )
        kinds: dict[int, type[CortexError]] = {
            403: NotAllowedError,
            404: NotFoundError,
            409: RefusedError,
        }
        reason = {403: "no_access", 404: "not_found"}.get(status)
        if status == 412:
            return RefusedError(
                "The task changed meanwhile.", reason=CHANGED_MEANWHILE, details=facts
            )
        kind = kinds.get(status, InvalidError)
        return kind(detail or f"The backend answers {status}.", reason=reason, details=facts)


def _header(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise login_needed("The login token is damaged. Please run 'ctx auth login' again.")
    return token


def _json(text: bytes, kind: str | None) -> object:
    if not text.strip():
        return None
    try:
        answer: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise bad_answer(f"it is not JSON ({(kind or 'no content type')[:80]})") from None
    return answer


def _detail(text: bytes) -> str:
    """Return FastAPI's `detail` as one line: a sentence, or what is wrong with which field."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    detail = answer.get("detail") if isinstance(answer, dict) else None
    if isinstance(detail, list):
        detail = "; ".join(
            f"{'.'.join(str(part) for part in item.get('loc', ())[1:])}: {item.get('msg', '')}"
            for item in detail
            if isinstance(item, dict)
        )
    return redact(detail[:500]) if isinstance(detail, str) else ""


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
