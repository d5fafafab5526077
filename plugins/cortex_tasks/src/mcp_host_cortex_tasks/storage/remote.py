"""Tasks of a Cortex backend, over HTTP with a JWT.

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
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ..errors import (
    BusyError,
    CortexError,
    InvalidError,
    LoginNeededError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    TimedOutError,
    UnavailableError,
)
from ..model.parsing import bad_answer, parse_comment, parse_task, parse_user
from ..model.redaction import redact
from ..model.task import Comment, Draft, Task, User
from .config import login_needed
from .hosts import is_loopback
from .retry import retry_after
from .tasks import CHANGED_MEANWHILE

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


class RemoteTasks:
    """The tasks that a backend shows to the owner of a token."""

    def __init__(self, backend: Backend, *, project_id: int | None = None) -> None:
        self._backend = backend
        self._project_id = project_id

    def mine(self) -> list[Task]:
        """See `Tasks`."""
        rows = self._backend.call("GET", "tasks/")
        if not isinstance(rows, list):
            raise bad_answer("the tasks should be an array")
        return [parse_task(row) for row in rows]

    def get(self, task_id: int) -> Task:
        """See `Tasks`."""
        return parse_task(self._backend.call("GET", f"tasks/{task_id}"))

    def create(self, draft: Draft) -> Task:
        """See `Tasks`. Without a project in the draft it is the default one of the settings."""
        project = draft.project_id or self._project_id
        if project is None:
            raise InvalidError(
                "A task needs a project, and no default is set.",
                reason="project_required",
                suggestions=[
                    "ctx projects list, then: ctx config set default_project_id NUMBER",
                    "Without any: ctx projects new NAME",
                ],
            )
        fields: dict[str, object] = {
            "title": draft.title,
            "project_id": project,
            "description": draft.description,
            "type": draft.type,
            "priority": draft.priority,
            "deadline": draft.deadline,
            "assignee_id": draft.assignee_id or self.me().id,
        }
        if draft.collaborator_ids:
            fields["collaborator_ids"] = list(draft.collaborator_ids)
        given = {key: value for key, value in fields.items() if value is not None}
        return parse_task(self._backend.call("POST", "tasks/", given))

    def change(self, task_id: int, fields: Mapping[str, object], seen: Task | None = None) -> Task:
        """See `Tasks`."""
        only_if = {"If-Match": f'"{quote(seen.updated_at)}"'} if seen and seen.updated_at else {}
        return parse_task(self._backend.call("PATCH", f"tasks/{task_id}", fields, headers=only_if))

    def delete(self, task_id: int) -> None:
        """See `Tasks`."""
        self._backend.call("DELETE", f"tasks/{task_id}")

    def restore(self, task_id: int) -> Task:
        """See `Tasks`. A backend may answer a message, and no task."""
        self._backend.call("POST", f"tasks/{task_id}/restore")
        return self.get(task_id)

    def comments(self, task_id: int) -> list[Comment]:
        """See `Tasks`."""
        answer = self._backend.call("GET", f"tasks/{task_id}/comments?page=1&page_size=100")
        rows = answer.get("items") if isinstance(answer, Mapping) else answer
        if not isinstance(rows, list):
            raise bad_answer("the comments should be an array")
        return [parse_comment(row) for row in rows]

    def comment(self, task_id: int, text: str) -> None:
        """See `Tasks`."""
        self._backend.call("POST", f"tasks/{task_id}/comments", {"content": text})

    def find_user(self, who: str) -> User:
        """See `Tasks`."""
        me = self.me()
        if who in ("me", str(me.id), me.email):
            return me
        if who.isascii() and who.isdigit():
            return User(int(who), "", "")  # the backend refuses one that there is not
        rows = self._backend.call("GET", f"users/search?{urlencode({'q': who})}")
        users = [parse_user(row) for row in rows] if isinstance(rows, list) else []
        found = [user for user in users if who in (user.email, user.username)]
        if len(found) != 1:
            raise _nobody(who)
        return found[0]

    def me(self) -> User:
        """See `Tasks`."""
        return parse_user(self._backend.call("GET", "users/me"))


def log_in(url: str, email: str, password: str, *, timeout: float = 20) -> str:
    """Return a new token of the backend for this user; `LoginNeededError` for a wrong password."""
    form = {"username": email, "password": password}
    try:
        answer = Backend(url, timeout=timeout).call("POST", "login/access-token", form=form)
    except InvalidError as error:
        if error.details.get("status") != 400:
            raise
        raise LoginNeededError(
            error.message,
            reason="wrong_password",
            suggestions=["ctx auth login", "Without a user yet: ctx auth login --register"],
            details=error.details,
        ) from None
    token = answer.get("access_token") if isinstance(answer, Mapping) else None
    if not isinstance(token, str) or not token:
        raise bad_answer("the login holds no access_token")
    return token


def register(url: str, username: str, email: str, password: str, *, timeout: float = 20) -> User:
    """Make a user of the backend."""
    fields = {"username": username, "email": email, "password": password}
    return parse_user(Backend(url, timeout=timeout).call("POST", "users/", fields))


def projects(backend: Backend) -> list[dict[str, object]]:
    """Return the projects that the caller can see, each with its number and name."""
    rows = backend.call("GET", "projects/")
    if not isinstance(rows, list):
        raise bad_answer("the projects should be an array")
    return [_project(row) for row in rows]


def make_project(backend: Backend, name: str) -> dict[str, object]:
    """Make a project in the caller's organization."""
    organization = backend.call("GET", "users/me")
    home = organization.get("organization_id") if isinstance(organization, Mapping) else None
    fields = {"name": name, **({"organization_id": home} if home else {})}
    return _project(backend.call("POST", "projects/", fields))


def make_organization(backend: Backend, name: str) -> None:
    """Make an organization and let the caller belong to it."""
    made = backend.call("POST", "organizations/", {"name": name})
    me = backend.call("GET", "users/me")
    number = made.get("id") if isinstance(made, Mapping) else None
    if number is not None and isinstance(me, Mapping) and me.get("organization_id") != number:
        backend.call("PUT", "users/me", {"organization_id": number})


def _project(row: object) -> dict[str, object]:
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), int):
        raise bad_answer("a project should be an object with its number")
    return {"id": row["id"], "name": str(row.get("name") or "")}


def project_ids(url: str, token: str, *, timeout: float = 20) -> list[int]:
    """Return the projects that the owner of the token can see."""
    rows = Backend(url, token, timeout=timeout).call("GET", "projects/")
    found = (
        [row.get("id") for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, list)
        else []
    )
    return [number for number in found if isinstance(number, int)]


def _nobody(who: str) -> NotFoundError:
    return NotFoundError(f"There is no user {who}.", reason="no_such_user")


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
