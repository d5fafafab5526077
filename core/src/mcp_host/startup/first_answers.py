"""What can be answered before the SDK is there: the handshake, and the first page of each list.

Only the ordinary is answered, and exactly as the SDK would; anything else waits for the SDK. Plain
data and nothing to import: `tests/core/startup/test_first_answers.py` holds every answer against
the SDK's.
"""

from __future__ import annotations

from .frames import TooLong
from .json_text import dumps, loads
from .protocol import HANDSHAKE_VERSIONS, LIST_TTL_MS, LISTS, META, MODERN_VERSION, is_id
from .usual import are_usual_capabilities, extensions, is_usual_envelope, is_usual_info, offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .catalogue import Catalogue
    from .frames import Id, Line

_CAPABILITIES: Mapping[str, Any] = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


class FirstAnswers:
    """Answers one client's first messages, and keeps those that the SDK must see again.

    `replay` are the lines for the SDK, in order; the answers to `answered` were given already.
    `waiting` are the requests among them that nobody has answered yet. `refuses` says that a line
    is broken, and that the SDK will answer it with an error. `listed` says that the client has seen
    a list. `era` is that of the opening, None until one was answered; `handshake` are the protocol
    version, the client's name and the capabilities that a handshake has agreed on, and `extensions`
    those that the client then told.

    Invariants: every line that was not answered here is in `replay`, in its order, and of the
    others the first alone. Once `_given_up`, no further line is answered.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.era: str | None = None
        self.handshake: tuple[str, str, frozenset[str]] = ("", "", frozenset())
        self.extensions: Mapping[str, Any] = {}
        self._initialized = False
        self._given_up = False
        self.replay: list[Line] = []
        self.answered: set[Id] = set()
        self.waiting: set[Id] = set()
        self.refuses = False
        self.listed = False

    def answer(self, line: Line) -> bytes | None:
        """The answer to a line; None where the SDK must give it, or where nothing is asked."""
        message = None if isinstance(line, TooLong) else _parsed(line)
        if message is None or self._given_up or _may_hold_lone_surrogate(line):
            self._wait(line, message)
            return None
        result = self._result(message)
        if result is None:
            self._wait(line, message)
            return None
        self._note(message, line)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return dumps(answer, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )

    def _note(self, message: Mapping[str, Any], line: Line) -> None:
        """The first request decides the era of a connection, so the SDK must see it as well."""
        self.listed = self.listed or message["method"] in LISTS
        if not self.answered:
            self.answered.add((type(message["id"]), message["id"]))
            self.replay.append(line)

    def _wait(self, line: Line, message: Mapping[str, Any] | None) -> None:
        self.replay.append(line)
        if message is None or "method" not in message:
            self.refuses = self.refuses or not _is_response(message)
            return
        if message["method"] == "notifications/initialized" and self.era == "handshake":
            self._initialized = True
        if message["method"] == "notifications/cancelled":
            params = message.get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            if is_id(cancelled):
                self.waiting.discard((type(cancelled), cancelled))
        elif is_id(message.get("id")):
            self.waiting.add((type(message["id"]), message["id"]))
            if self.era is None:
                self._given_up = True  # an unusual opening: what it means is the SDK's to say
        elif "id" in message:
            self.refuses = True

    def _result(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if not _is_request(message):
            return None
        method, params = message["method"], message.get("params")
        if self.era == "handshake":
            return self._handshake_result(method, params)
        if method == "initialize":
            return self._initialize(params) if self.era is None else None
        if not _is_modern(params):
            return None
        result = self._modern_result(method)
        if result is not None:
            self.era = "modern"
        return result

    def _initialize(self, params: Any) -> dict[str, Any] | None:
        if not isinstance(params, dict) or set(params) - {
            "protocolVersion",
            "capabilities",
            "clientInfo",
        }:
            return None
        version = params.get("protocolVersion")
        fits = (
            isinstance(version, str)
            and are_usual_capabilities(params.get("capabilities"))
            and is_usual_info(params.get("clientInfo"))
        )
        if not fits:
            return None
        self.era = "handshake"
        chosen = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        self.handshake = (chosen, params["clientInfo"]["name"], offered(params["capabilities"]))
        self.extensions = extensions(params["capabilities"])
        result = {
            "protocolVersion": chosen,
            "capabilities": self._capabilities(),
            "serverInfo": self.catalogue.info,
        }
        return self._with_instructions(result)

    def _handshake_result(self, method: str, params: Any) -> dict[str, Any] | None:
        if params not in (None, {}):
            return None
        if method == "ping":
            return {}
        if method in LISTS and self._initialized:
            return dict(self.catalogue.pages[LISTS[method]])
        return None

    def _modern_result(self, method: str) -> dict[str, Any] | None:
        if method in LISTS:
            result = {
                **self.catalogue.pages[LISTS[method]],
                "ttlMs": 0 if self.catalogue.may_change else LIST_TTL_MS,
                "cacheScope": "private",
            }
        elif method == "server/discover":
            result = self._with_instructions(
                {
                    "supportedVersions": [MODERN_VERSION],
                    "capabilities": self._capabilities(),
                    "ttlMs": 0,
                    "cacheScope": "private",
                }
            )
        else:
            return None
        return {
            **result,
            "resultType": "complete",
            "_meta": {META + "serverInfo": self.catalogue.info},
        }

    def _capabilities(self) -> dict[str, Any]:
        told = self.catalogue.extensions
        return {**_CAPABILITIES, "extensions": told} if told else dict(_CAPABILITIES)

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        if self.catalogue.instructions is None:
            return result
        return {**result, "instructions": self.catalogue.instructions}


def _may_hold_lone_surrogate(line: Line) -> bool:
    """Whether JSON's spelling of a surrogate is in it: a lone one is no text for the SDK."""
    return not isinstance(line, TooLong) and b"\\ud" in line.lower()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = loads(line.decode("utf-8"))  # bytes could be of other encodings as well
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _is_response(message: Mapping[str, Any] | None) -> bool:
    return message is not None and ("result" in message or "error" in message)


def _is_request(message: Mapping[str, Any]) -> bool:
    return (
        set(message) <= {"jsonrpc", "id", "method", "params"}
        and message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and is_id(message.get("id"))
    )


def _is_modern(params: Any) -> bool:
    """Whether a request carries the 2026-07-28 envelope and nothing else."""
    return (
        isinstance(params, dict) and set(params) == {"_meta"} and is_usual_envelope(params["_meta"])
    )
