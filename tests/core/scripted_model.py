"""A model for clients to talk to, at a free port: it asks for one tool, then it is done."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
SEARCH = "tool_search"  # by which some clients let a model find the tools that they do not list


class ScriptedModel:
    """Answers in the four ways of the providers; `told` is what the clients said a call gave."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.told: list[str] = []
        self.url = ""
        self._has_searched = self._has_called = False

    def next(self, tools: list[str], told: list[str]) -> tuple[str, Json] | None:
        """The tool to call next, with its arguments; None when there is nothing left to ask."""
        wanted = next((name for name in tools if name.endswith(self.tool)), None)
        if wanted and not self._has_called:
            self._has_called = True
            return wanted, {}
        if wanted:
            self.told += told[-1:]
        elif SEARCH in tools and not self._has_searched:
            self._has_searched = True
            return SEARCH, {"query": self.tool}
        return None


@contextmanager
def scripted_model(tool: str) -> Iterator[ScriptedModel]:
    """Serve a model that asks for the tool whose name ends so."""
    model = ScriptedModel(tool)

    class Handler(_Handler):
        script = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    model.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [{"id": "scripted"}]}))

    def do_POST(self) -> None:
        asked = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        call = self.script.next(_tools(asked), _told(asked))
        if path.endswith("/messages"):
            self._answer(asked, *_anthropic(call))
        elif path.endswith("/chat/completions"):
            self._answer(asked, *_openai(call))
        elif "enerateContent" in path:
            asked["stream"] = "stream" in path
            self._answer(asked, *_gemini(call))
        else:
            self._send("application/json", json.dumps({"input_tokens": 1}))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, asked: Json, whole: Json, events: list[Json]) -> None:
        if not asked.get("stream"):
            self._send("application/json", json.dumps(whole))
            return
        named = ((f"event: {one['type']}\n" if "type" in one else "", one) for one in events)
        lines = [f"{name}data: {json.dumps(event)}\n\n" for name, event in named]
        self._send("text/event-stream", "".join(lines))

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _tools(asked: Json) -> list[str]:
    found = []
    for tool in asked.get("tools") or ():
        declared = tool.get("functionDeclarations") or [tool.get("function", tool)]
        found += [str(one.get("name")) for one in declared]
    return found


def _told(asked: Json) -> list[str]:
    """What the tools that were called have answered, as the client tells its model."""
    found = []
    for message in asked.get("messages", ()):
        content = message.get("content")
        if message.get("role") == "tool":
            found.append(json.dumps(content))
        elif isinstance(content, list):
            found += [json.dumps(part) for part in content if part.get("type") == "tool_result"]
    for turn in asked.get("contents", ()):
        parts = turn.get("parts", ())
        found += [json.dumps(part) for part in parts if "functionResponse" in part]
    return found


def _anthropic(call: tuple[str, Json] | None) -> tuple[Json, list[Json]]:
    block: Json = {"type": "text", "text": "done"}
    piece: Json = {"type": "text_delta", "text": "done"}
    if call:
        block = {"type": "tool_use", "id": f"call_{call[0]}", "name": call[0], "input": call[1]}
        piece = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    reason = "tool_use" if call else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "message", "type": "message", "role": "assistant", "model": "scripted"}
    whole |= {"content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}
    empty = {**block, "input": {}} if call else {**block, "text": ""}
    ended = {"stop_reason": reason, "stop_sequence": None}
    return whole, [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _openai(call: tuple[str, Json] | None) -> tuple[Json, list[Json]]:
    message: Json = {"role": "assistant", "content": "done"}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        asked = {"index": 0, "id": f"call_{call[0]}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [asked]}
    reason = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    base = {"id": "answer", "created": 1, "model": "scripted"}
    whole = {**base, "object": "chat.completion", "usage": usage}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": reason}]
    chunk = {**base, "object": "chat.completion.chunk"}
    said = {"index": 0, "delta": message, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": reason}
    return whole, [{**chunk, "choices": [said]}, {**chunk, "choices": [ended], "usage": usage}]


def _gemini(call: tuple[str, Json] | None) -> tuple[Json, list[Json]]:
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "done"}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    said = {"content": content, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [said], "usageMetadata": usage}
    return whole, [whole]
