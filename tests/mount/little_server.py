"""A server of the handshake era in plain Python, which does all that one can do on stdio."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

STATE = Path(os.environ.get("STATE", "."))
ONLY = os.environ.get("ONLY")
"""The one version that is spoken, where it is the stateless era's."""
LOCK = threading.Lock()
WAITING: dict[str, Any] = {}
ANY = {"type": "object"}
EXTRA: list[dict[str, Any]] = [
    one if isinstance(one, dict) else {"name": one, "inputSchema": ANY}
    for one in json.loads(os.environ.get("TOOLS", "[]"))
]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
MUCH = 5_000_000
LINES = {
    "not JSON": '{"jsonrpc": "2.0", "id": %d, "result": {"content": [' + MUCH // 3 * "[],",
    "id last": '{"result": ["' + MUCH * "x" + '"], "jsonrpc": "2.0", "id": %d}',
    "much waste": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"'
    + MUCH // 6 * r"\u00e9"
    + '"}]}}',
}


def described() -> str:
    words = STATE / "words"
    return words.read_text() if words.exists() else "Say it; see {tool:echo}."


OTHERS: dict[str, list[dict[str, Any]]] = json.loads(os.environ.get("OTHERS", "{}"))
"""What is listed beside the tools, in place of what it has."""


def tools() -> list[dict[str, Any]]:
    return [
        {"name": "echo", "description": described(), "inputSchema": ANY},
        {"name": "read.it", "inputSchema": ANY, "annotations": {"readOnlyHint": True, "of": 1}},
        {"name": "ask", "inputSchema": ANY},
        {"name": "ask_several", "inputSchema": ANY},
        {"name": "ask_in_vain", "inputSchema": ANY},
        {"name": "environment", "inputSchema": ANY},
        {"name": "grow", "inputSchema": ANY},
        {"name": "large", "inputSchema": ANY},
        {"name": "leave", "inputSchema": ANY},
        {"name": "wait", "inputSchema": ANY},
        {"name": "sample", "inputSchema": ANY},
        {"name": "roots", "inputSchema": ANY},
        {"name": "broken", "inputSchema": {"oneOf": [{"properties": {"a": {"type": "string"}}}]}},
        {"name": "odd", "inputSchema": ANY, "outputSchema": {"type": "string"}},
        *EXTRA,
    ]


def send(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def begin_to_ask(method: str, params: dict[str, Any]) -> str:
    key = f"q{len(WAITING)}"
    WAITING[key] = (threading.Event(), [])
    send({"id": key, "method": method, "params": params})
    return key


def answer_to(key: str) -> dict[str, Any]:
    there, answers = WAITING[key]
    there.wait(60)
    return answers[0]


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return answer_to(begin_to_ask(method, params))


def ask_several(each: list[str], withdrawn: str) -> dict[str, Any]:
    """Ask side by side; take one of the questions back once the project's folder says so."""
    form = {"requestedSchema": FORM}
    keys = [begin_to_ask("elicitation/create", {"message": one, **form}) for one in each]
    if withdrawn:
        while not (STATE / "withdraw").exists():
            time.sleep(0.01)
        gone = keys.pop(each.index(withdrawn))
        send({"method": "notifications/cancelled", "params": {"requestId": gone}})
    return text(json.dumps([answer_to(key)["result"]["content"]["name"] for key in keys]))


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def token_of(params: dict[str, Any]) -> Any:
    return params.get("_meta", {}).get("progressToken")


def call(name: str, given: dict[str, Any], token: Any) -> dict[str, Any]:
    if name == "echo":
        if token is not None:
            told = {"progressToken": token, "progress": 1}
            send({"method": "notifications/progress", "params": told})
        own = {"own": 1, **({"has_token": token is not None} if given.get("tells_token") else {})}
        return {**text(given.get("words", "")), "structuredContent": own, "isError": False}
    if name == "ask_several":
        return ask_several(given["questions"], given.get("withdrawn", ""))
    if name == "ask_in_vain":
        begin_to_ask("elicitation/create", {"message": "in vain?", "requestedSchema": FORM})
        while not (STATE / "withdraw").exists():
            time.sleep(0.01)
    if name == "ask":
        params = {"message": given.get("words"), "requestedSchema": FORM}
        params = {} if "lacks" in given else params
        answer = ask("elicitation/create", params)
        return text(json.dumps(answer.get("result", answer.get("error"))))
    if name == "sample":
        params = {"messages": [], "maxTokens": 5}
        answer = ask("sampling/createMessage", params)
        return text(json.dumps(answer.get("result", answer.get("error"))))
    if name == "roots":
        return text(json.dumps(ask("roots/list", {}).get("result")))
    if name == "environment":
        return text(json.dumps(sorted({**os.environ})))
    if name == "grow":
        EXTRA.append({"name": "grown", "inputSchema": ANY})
        if given.get("keep"):
            (STATE / "grown").touch()
        send({"method": "notifications/tools/list_changed"})
    if name == "large":
        return text("x" * 5_000_000)
    if name == "leave":
        print("its last words", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "wait":
        (STATE / "waits").touch()
        time.sleep(60)
    return text(f"{name} done")


def respond(message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params", {})
    if ONLY and method == "initialize":
        error = {"code": -32022, "message": "too old", "data": {"supported": [ONLY]}}
        send({"id": message["id"], "error": error})
        return
    if method == os.environ.get("ENDS_AT"):
        os._exit(4)
    if method == os.environ.get("SILENT_AT"):
        return
    if method == "subscriptions/listen" and ONLY:
        (STATE / "listened").write_text(json.dumps(params["notifications"]))
        return  # it stays open
    if method == "server/discover" and ONLY:
        stamp = {"io.modelcontextprotocol/serverInfo": {"name": "little", "version": "8"}}
        capabilities = {"tools": {"listChanged": True}}
        result = {"supportedVersions": [ONLY], "capabilities": capabilities, "_meta": stamp}
    elif ONLY and params.get("name") == "ask" and "inputResponses" not in params:
        asked = {"message": params["arguments"]["words"], "requestedSchema": FORM}
        question = {"method": "elicitation/create", "params": asked}
        result = {"resultType": "input_required", "inputRequests": {"q": question}}
        result["requestState"] = "kept"
    elif ONLY and params.get("name") == "ask":
        assert params["requestState"] == "kept"
        result = text(json.dumps(params["inputResponses"]["q"]))
    elif method == "initialize":
        capabilities = {each: {} for each in ("tools", "resources", "prompts", "completions")}
        (STATE / "offered").write_text(json.dumps(params["capabilities"]))
        result = {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "serverInfo": {"name": "little", "version": "7.5"},
            "instructions": "Obey me. " * 100,
        }
    elif method == "tools/list":
        result = {"tools": tools()}
        if "cursor" not in params:
            result = {"tools": tools()[:3], "nextCursor": "3"}
        else:
            result = {"tools": tools()[3:]}
    elif method == "resources/list":
        one = {"uri": "little://one", "name": "one", "mimeType": "text/plain"}
        result = {"resources": OTHERS.get("resources", [one])}
    elif method == "resources/templates/list":
        templates = [{"uriTemplate": "little://files/{path*}", "name": "file"}]
        result = {"resourceTemplates": OTHERS.get("templates", templates)}
    elif method == "resources/read":
        uri = params["uri"]
        if uri.endswith("missing"):
            send({"id": message["id"], "error": {"code": -32002, "message": "No such file"}})
            return
        result = {"contents": [{"uri": uri, "text": f"it is {uri}"}]}
    elif method == "prompts/list":
        arguments = [{"name": "who", "required": True}]
        prompts = [{"name": "greet", "arguments": arguments}]
        result = {"prompts": OTHERS.get("prompts", prompts)}
    elif method == "prompts/get":
        words = f"Greet {params['arguments']['who']}"
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    elif method == "completion/complete":
        of = params["ref"].get("name") or params["ref"]["uri"]
        result = {"completion": {"values": [of + params["argument"]["value"]]}}
    elif method == "tools/call" and "line" in params["arguments"]:
        with LOCK:
            print(LINES[params["arguments"]["line"]] % message["id"], flush=True)
        return
    elif method == "tools/call" and "says" in params["arguments"]:
        token = token_of(params)
        said = params["arguments"]["says"].replace("ID", str(message["id"]))
        with LOCK:
            print(said.replace("TOKEN", str(token)), flush=True)
        return
    elif method == "tools/call":
        result = call(params["name"], params["arguments"], token_of(params))
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no {method}"}})
        return
    send({"id": message["id"], "result": result})


def main() -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (STATE / "processes").write_text(f"{os.getpid()} {child.pid}")
    print("this is no JSON-RPC")
    if (STATE / "hangs").exists():
        time.sleep(600)
    if (STATE / "grown").exists():
        EXTRA.append({"name": "grown", "inputSchema": ANY})
    while (STATE / "shut").exists():
        time.sleep(0.02)
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            there, answers = WAITING[message["id"]]
            answers.append(message)
            there.set()
        elif "id" in message:
            threading.Thread(target=respond, args=(message,), daemon=True).start()
        elif message["method"] == "notifications/initialized":  # earlier than anybody can use it
            send({"method": "notifications/resources/updated", "params": {"uri": "little://one"}})
        elif message["method"] == "notifications/cancelled":
            (STATE / "cancelled").touch()


main()
