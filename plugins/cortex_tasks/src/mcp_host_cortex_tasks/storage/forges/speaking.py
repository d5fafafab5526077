"""How a forge is spoken to: JSON over HTTP, in time, the token to its own host alone."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from time import monotonic, sleep, time
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2

from ...errors import (
    BusyError,
    CortexError,
    LoginNeededError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    TimedOutError,
    UnavailableError,
)
from ...model.redaction import redact
from ..hosts import is_loopback
from ..retry import retry_after

MAX_PAGES = 20
SECOND_LIMIT = 60.0  # seconds; GitHub says so of its second limit, and sends no header
MAX_ANSWER = 16 * 1024 * 1024
# Headers about an encoding that is undone by the time the content is read.
_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")

_HASH = "#"

Fields = Mapping[str, Any]  # a forge's JSON, read once and never passed on


class Speaker:
    """One repository on one forge, whose API is spoken to.

    `head` is the path of the repository that branches are pushed to, where that is another one.
    """

    name: str
    token_key: str

    def __init__(
        self, api: str, path: str, token: str, *, timeout: float, head: str | None = None
    ) -> None:
        self._api = api
        self._path = path
        self._token = token
        self._timeout = timeout
        self._head = head or path
        self.tags: dict[str, str] = {}

    @cached_property
    def _http(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self._api.rstrip("/") + "/",
            headers={"Accept": "application/json", "User-Agent": "ctx", **self._login(self._token)},
            timeout=self._timeout,
            trust_env=not is_loopback(urlsplit(self._api).hostname or ""),  # a proxy is elsewhere
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def _login(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}

    # speaking HTTP

    def _call(
        self,
        method: str,
        path: str,
        body: Fields | None = None,
        query: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        """Send one request; wait once where the forge asks for it; raise what it complains of."""
        answer = self._send(method, path, body, query)
        wait = _asked_to_wait(answer)
        if answer.status_code in (403, 429, 503) and wait is not None and wait <= self._timeout:
            sleep(wait)
            answer = self._send(method, path, body, query)
        if answer.is_success:
            return answer
        raise self._error(answer)

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Fields]:
        """Yield the items of a list, page by page as the Link header says."""
        answer = self._call("GET", path, query=query)
        for _ in range(MAX_PAGES):
            rows = self._data(answer)
            if not isinstance(rows, list):
                raise self._nonsense("a list was expected")
            yield from (row for row in rows if isinstance(row, dict))
            onward = answer.links.get("next", {}).get("url")
            if not onward:
                return
            if not self._ours(onward):
                raise self._nonsense("its next page is on another host")
            answer = self._call("GET", onward)

    def _get(self, path: str) -> Any:
        """Return the JSON at a path, with its ETag noted in `tags`; None where there is none."""
        try:
            answer = self._call("GET", path)
        except NotFoundError:
            return None
        # Where a forge sends no ETag, a hash still tells whether it is as it was.
        digest = sha256(answer.content).hexdigest()[:16]
        self.tags[path] = answer.headers.get("ETag") or f"{_HASH}{digest}"
        return self._data(answer)

    def _rows(self, path: str) -> list[Fields]:
        """Return the objects of the list at a path, as `_get` does."""
        found = self._get(path)
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []

    def same(self, tags: Mapping[str, str]) -> bool:
        """Tell whether everything that had these ETags is as it was."""
        for path, tag in tags.items():
            if tag.startswith(_HASH) or not self._ours(path):
                return False
            if self._send("GET", path, None, None, {"If-None-Match": tag}).status_code != 304:
                return False
        return bool(tags)

    def _send(
        self,
        method: str,
        path: str,
        body: Fields | None,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        try:
            answer = self._exchange(
                self._http.build_request(
                    method, path, json=body, params=query or None, headers=dict(headers or {})
                )
            )
            onward = answer.headers.get("Location", "")
            if answer.is_redirect and onward and self._ours(onward):
                answer = self._exchange(self._http.build_request(method, onward, json=body))
        except httpx2.TimeoutException:
            raise self._late() from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise UnavailableError(
                f"{self.name} cannot be reached: {redact(str(error))}", reason="forge_unreachable"
            ) from None
        return answer

    def _exchange(self, request: httpx2.Request) -> httpx2.Response:
        """Send and read an answer that ends in time and is of a sensible size."""
        deadline = monotonic() + self._timeout
        answer = self._http.send(request, stream=True)
        try:
            content = b""
            for piece in answer.iter_bytes():
                content += piece
                if len(content) > MAX_ANSWER:
                    raise self._nonsense("it is too large")
                if monotonic() > deadline:
                    raise self._late()
        finally:
            answer.close()
        headers = [pair for pair in answer.headers.multi_items() if pair[0] not in _OF_THE_WIRE]
        return httpx2.Response(
            answer.status_code, headers=headers, content=content, request=request
        )

    def _head_of(self, branch: str) -> str:
        """Return how a branch of the repository that is pushed to is named in the other one."""
        return branch if self._head == self._path else f"{self._head.split('/')[0]}:{branch}"

    def _late(self) -> TimedOutError:
        return TimedOutError(
            f"{self.name} did not answer within {self._timeout:g} s.", reason="forge_timeout"
        )

    def _ours(self, url: str) -> bool:
        """Tell whether an address is this forge's, so that the token may go there."""
        there, here = self._http.base_url.join(url), self._http.base_url
        return (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)

    def _data(self, answer: httpx2.Response) -> Any:
        try:
            return answer.json()
        except (ValueError, RecursionError):
            raise self._nonsense("it is not JSON") from None

    def _nonsense(self, what: str) -> UnavailableError:
        return UnavailableError(
            f"{self.name}'s answer makes no sense: {what}.", reason="bad_answer"
        )

    def _error(self, answer: httpx2.Response) -> CortexError:
        status, said = answer.status_code, self._said(answer)
        facts = {"status": status, "forge": self.name}
        wait = _asked_to_wait(answer)
        if status == 401:
            return LoginNeededError(
                f"{self.name} does not accept the token: {said}",
                reason="forge_login",
                suggestions=[f"ctx config set {self.token_key} TOKEN"],
                details=facts,
            )
        if status == 403 and "secondary rate limit" in said.lower():
            wait = wait or SECOND_LIMIT
        if status == 429 or (status in (403, 503) and wait is not None):
            return BusyError(
                f"{self.name} asks us to wait: {said}",
                reason="rate_limited",
                details={**facts, "retry_after": wait},
            )
        if status >= 500 or status < 400:
            return UnavailableError(
                f"{self.name} failed with {status}: {said}", reason="forge_failed", details=facts
            )
        kind = {403: NotAllowedError, 404: NotFoundError}.get(status, RefusedError)
        return kind(
            f"{self.name} refuses ({status}): {said}", reason="forge_refused", details=facts
        )

    def _said(self, answer: httpx2.Response) -> str:
        """Return the forge's own words, one line."""
        try:
            data = answer.json()
        except (ValueError, RecursionError):
            return answer.reason_phrase
        words: list[str] = []
        if isinstance(data, dict):
            for part in (data.get("message"), data.get("error"), *_list(data.get("errors"))):
                words += _words(part)
        return redact("; ".join(words)[:500]) or answer.reason_phrase


def _asked_to_wait(answer: httpx2.Response) -> float | None:
    """Return the seconds that a forge wants to be left alone: by Retry-After, or by a used-up
    allowance that says when it is renewed."""
    if answer.headers.get("X-RateLimit-Remaining") == "0":
        renewed = answer.headers.get("X-RateLimit-Reset", "")
        if renewed.isascii() and renewed.isdigit():
            return max(0.0, float(renewed[:12]) - time())
    return retry_after(answer.headers.get("Retry-After"))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _words(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    if isinstance(part, dict):
        return (
            _words(part.get("message"))
            if "message" in part
            else [f"{k}: {v}" for k, v in part.items()]
        )
    return [word for item in _list(part) for word in _words(item)]
