"""The server of the page: who may see it, and what keeps it up to date."""

import secrets
import threading
from collections.abc import Callable
from pathlib import Path

from mcp_host import PageEvents, PageRequest, PageResponse, PageServer, SettingsError

from ...errors import InvalidError, TaskyError
from ...service import Tasks
from ..plan import person
from .data import PlanPage

_STATIC = Path(__file__).parent / "static"
_LOOK_SECONDS = 0.1
_AFTER_ERROR_SECONDS = 1.0


def serve(
    plan: Callable[[], Tasks],
    port: int,
    *,
    write: bool,
    ready: Callable[[str], None],
    started: Callable[[PageServer], None] | None = None,
) -> None:
    """Serve the page until it is ended; `plan` is asked each time which plan it is, and `ready` is
    told its address with the token."""
    door = Door()
    events = PageEvents()
    page = PlanPage(plan, person(), writes=write, folder=_STATIC)
    try:
        server = PageServer(page.handlers(), events, door.admit, port)
    except SettingsError as error:
        raise InvalidError(f"{error}.", reason="no_port") from error
    door.cookie = f"tasky_{server.port}"  # cookies know no ports: each page has its own
    ended = threading.Event()
    seen = plan().last_event()
    watch = threading.Thread(target=_watch, args=(plan, events, seen, ended), daemon=True)
    watch.start()
    ready(f"{server.url}?token={door.token}")
    if started:
        started(server)
    try:
        server.serve()
    finally:
        ended.set()
        watch.join()


class Door:
    """Knows who asks: the address carries a token once, which is traded for a cookie that no
    other site's request brings along."""

    def __init__(self) -> None:
        self.cookie = "tasky"
        self.token: str | None = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._lock = threading.Lock()

    def admit(self, asked: PageRequest) -> PageResponse | None:
        """Return what is answered in place of the page, or None to whoever may see it."""
        if _same(asked.cookies.get(self.cookie), self._session):
            if "token" in asked.query and asked.path == "/":
                return PageResponse("", 303, headers={"location": "/"})
            return None
        said = asked.query.get("token")
        if asked.path == "/" and asked.method == "GET" and self._trade(said):
            value = f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
            return PageResponse("", 303, headers={"location": "/", "set-cookie": value})
        if not said:
            why = "This page needs the address with its token"
        elif self.token is None:
            why = "The address of this page was used already"
        else:
            why = "This is not the address of this page"
        return PageResponse(f"{why}; run tasky ui again for a new one.", 403)

    def _trade(self, said: str | None) -> bool:
        with self._lock:
            if self.token is None or not _same(said, self.token):
                return False
            self.token = None
            return True


def _same(said: str | None, known: str) -> bool:
    return said is not None and secrets.compare_digest(said.encode(), known.encode())


def _watch(
    plan: Callable[[], Tasks], events: PageEvents, seen: int, ended: threading.Event
) -> None:
    """Tell the page of each change after the event `seen`, whoever makes it, until `ended`."""
    wait = _LOOK_SECONDS
    while not ended.wait(wait):
        wait = _LOOK_SECONDS
        try:
            tasks = plan()
            last = tasks.last_event()
            if last != seen:
                events.send("events", tasks.events_after(seen) if last > seen else [])
            seen = last
        except TaskyError as error:
            events.send("trouble", {"error": error.message})
            wait = _AFTER_ERROR_SECONDS
