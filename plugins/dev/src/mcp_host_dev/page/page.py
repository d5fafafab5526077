"""The page's server: lists, calls, and the events of the host's feed."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from mcp_host import (
    PAGE_STYLES,
    LiveHost,
    PageEvents,
    PageRequest,
    PageResponse,
    PageServer,
    SettingsError,
)

from ..serving.client import Client
from .door import Door

KEPT = 2_000
"""The newest events that a page is told which is opened late."""
LISTS = ("tools", "resources", "resourceTemplates", "prompts")
Handler = Callable[[PageRequest], PageResponse]


class Page:
    """One page over one host. With a `client` it calls; without, it only shows.

    `title` is what stands at its top, and `about` is told beside it: the endpoint, the settings.
    """

    def __init__(
        self,
        host: LiveHost,
        client: Client | None,
        title: str,
        about: Mapping[str, Any],
        port: int = 0,
    ) -> None:
        self._host = host
        self._client = client
        self._title = title
        self._about = about
        self._door = Door()
        self._events = PageEvents()
        self._kept: deque[Mapping[str, Any]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._server = PageServer(self._handlers(), self._events, self._door.admit, port)

    @property
    def url(self) -> str:
        """The address with the token of this run."""
        return f"{self._server.url}#{self._door.token}"

    def serve(self) -> None:
        """Answer until a signal comes, or `stop` is called."""
        self._server.serve()

    def stop(self) -> None:
        self._server.stop()

    def tell(self, event: Mapping[str, Any]) -> None:
        """Tell the page of an event: one of the host's feed, or a `note` of the command."""
        with self._lock:
            self._kept.append(event)
        self._events.send("feed", event)

    def _handlers(self) -> dict[tuple[str, str], Handler]:
        static = {
            "/": ("index.html", "text/html"),
            "/page.css": ("page.css", "text/css"),
            "/page.js": ("page.js", "text/javascript"),
            "/icon.svg": ("icon.svg", "image/svg+xml"),
        }
        handlers: dict[tuple[str, str], Handler] = {
            ("GET", path): _static(name, media) for path, (name, media) in static.items()
        }
        handlers["GET", "/styles.css"] = lambda asked: PageResponse(
            PAGE_STYLES, media_type="text/css; charset=utf-8"
        )
        handlers["POST", "/api/lists"] = self._guarded(self._lists)
        handlers["POST", "/api/events"] = self._guarded(self._past)
        if self._client is not None:
            handlers["POST", "/api/call"] = self._guarded(self._call)
            handlers["POST", "/api/cancel"] = self._guarded(self._cancel)
            handlers["POST", "/api/complete"] = self._guarded(self._complete)
        return handlers

    def _guarded(self, answer: Callable[[Any], Any]) -> Handler:
        """Answer with JSON to a request of JSON; what is wrong with it is told."""

        def handle(asked: PageRequest) -> PageResponse:
            try:
                return PageResponse(answer(asked.json()))
            except SettingsError as error:
                return PageResponse({"problem": str(error)}, 503)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                return PageResponse({"problem": f"the request was not understood: {error}"}, 400)

        return handle

    def _lists(self, asked: Any) -> dict[str, Any]:
        lists: dict[str, Any] = {what: [] for what in (*LISTS, "packs")}
        for host in self._host.lists():
            for what in lists:
                lists[what] += host[what]
        return {
            "title": self._title,
            "calls": self._client is not None,
            "about": self._about,
            **lists,
        }

    def _past(self, asked: Any) -> list[Mapping[str, Any]]:
        with self._lock:
            return list(self._kept)

    def _call(self, asked: Any) -> dict[str, Any]:
        assert self._client is not None
        return self._client.call(
            asked["kind"],
            asked["name"],
            asked["arguments"],
            answers=asked.get("answers"),
            state=asked.get("state"),
            key=asked["key"],
        )

    def _cancel(self, asked: Any) -> dict[str, Any]:
        assert self._client is not None
        self._client.cancel(asked["key"])
        return {}

    def _complete(self, asked: Any) -> dict[str, Any]:
        assert self._client is not None
        params = {"ref": asked["ref"], "argument": asked["argument"]}
        return self._client.ask("completion/complete", params)


def _static(name: str, media: str) -> Handler:
    body = (files(__package__) / "static" / name).read_text("utf-8")
    return lambda asked: PageResponse(body, media_type=f"{media}; charset=utf-8")
