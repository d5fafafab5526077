"""Workers of other distributions: what they say wrong is a reason, and hurts nobody else."""

import json
from pathlib import Path

import pytest
from core_home import Home
from mcp_host.packs.children.frames import HEADER, Frames, frame
from mcp_host.runtime.codec import reply_of
from mcp_host.runtime.messages import Answered

GROUP = "mcp_host.workers"
BRINGS = """
import sys
from mcp_host import WorkerProgram

def program(place):
    if place.value == "raises":
        raise ValueError("no such quotes")
    if place.value == "nothing":
        return None
    return WorkerProgram([sys.executable, "-m", "quotes_plugin", place.value], {"QUOTED": "yes"})
"""
SPEAKS = """
if __name__ == "__main__":
    import os
    from mcp_host import WorkerBorder

    says = sys.argv[1]
    border = WorkerBorder()
    border.receive()
    tool = {"name": "quote", "wire": {"inputSchema": {"type": "object"}}}
    version = 99 if says == "another version" else border.version
    tools = [5] if says == "no tools" else [tool]
    if says == "a number":
        tool["wire"]["description"] = 5
    border.send({"border": version, "declared": {"tools": tools}})
    while (got := border.receive()) is not None:
        message, _ = got
        if "open" in message:
            border.send({"opened": None})
        elif "call" in message:
            bodies = {"no json": b"{", "no object": b"[]"}
            body = b'{"content": [{"type": "text", "text": "%s"}]}' % os.environ["QUOTED"].encode()
            border.send({"reply": message["number"], "answered": "ok"}, bodies.get(says, body))
        elif "close" in message:
            border.send({"closed": True})
            break
"""

IN_THREADS = """
import os, sys
from mcp_host import WorkerThread

def program(place):
    return WorkerThread(fails if place.value == "fails" else serve)

def fails(border):
    raise ValueError("nothing to serve")

def serve(border):
    border.receive()
    tool = {"name": "quote", "wire": {"inputSchema": {"type": "object"}}}
    border.send({"border": border.version, "declared": {"tools": [tool]}})
    answers = [sys.executable, "-c", "import os; input(); print(os.getpid(), flush=True); input()"]
    cat = border.start(answers, {"PATH": "/usr/bin"}, "/")

    def heard(message):
        if "open" in message:
            border.send({"opened": None})
        elif "call" in message:
            os.write(cat.input, b"one\\n")
            text = os.read(cat.output, 100).decode().strip()
            body = b'{"content": [{"type": "text", "text": "%s"}]}' % text.encode()
            border.send({"reply": message["number"], "answered": "ok"}, body)
        elif "close" in message:
            border.send({"closed": True})

    border.hear(heard, lambda: None)
"""


@pytest.fixture
def quotes(home: Home) -> Home:
    home.install("quotes", GROUP, "quotes", BRINGS + SPEAKS, "program")
    return home


def settings(home: Home, says: str) -> str:
    return str(home.write(f'[packs.wisdom]\nquotes = "{says}"\n', "quotes.toml"))


def test_a_worker_serves_with_the_environment_that_it_asked_for(quotes: Home) -> None:
    done = quotes.run("call", "wisdom_quote", "--config", settings(quotes, "well"))

    assert (done.code, done.out) == (0, "yes\n")


def test_a_worker_in_threads_of_the_host_serves_and_its_program_ends_with_the_host(
    home: Home,
) -> None:
    home.install("quotes", GROUP, "quotes", IN_THREADS, "program")

    done = home.run("call", "wisdom_quote", "--config", settings(home, "well"))
    failed = home.run("packs", "--json", "--config", settings(home, "fails"))

    assert done.code == 0, done.err
    assert not Path("/proc", done.out.strip()).exists()
    (pack,) = (pack for pack in failed.json["packs"] if pack["name"] == "wisdom")
    assert (pack["state"], pack["code"]) == ("failed", "crashed")


@pytest.mark.parametrize("says", ["no json", "no object"])
def test_a_worker_whose_answer_is_none_is_ended_and_the_call_told(quotes: Home, says: str) -> None:
    done = quotes.run("call", "wisdom_quote", "--config", settings(quotes, says))

    assert done.code == 1
    assert "does not speak" in done.err


@pytest.mark.parametrize(
    ("says", "code", "reason"),
    [
        ("raises", "process_failed", "the worker of 'quotes' raised ValueError: no such quotes"),
        ("nothing", "process_failed", "must return a WorkerProgram"),
        ("another version", "border_unknown", "version 99 of the border"),
        ("no tools", "process_failed", "what its process declares cannot be read"),
        ("a number", "process_failed", "the description of quote must be a text"),
    ],
)
def test_what_is_wrong_with_a_worker_is_why_its_pack_fails(
    quotes: Home, says: str, code: str, reason: str
) -> None:
    done = quotes.run("packs", "--json", "--config", settings(quotes, says))

    (pack,) = (pack for pack in done.json["packs"] if pack["name"] == "wisdom")
    assert (pack["state"], pack["code"]) == ("failed", code)
    assert reason in pack["reason"]


def test_one_key_of_one_distribution_chooses_a_worker(quotes: Home) -> None:
    file = quotes.write('[packs.wisdom]\nquotes = "a"\npython = "python3"\n', "a.toml")
    beside_python = quotes.run("packs", "--config", str(file))
    quotes.install("sayings", GROUP, "sayings", BRINGS, "program")
    file = quotes.write('[packs.wisdom]\nquotes = "a"\nsayings = "b"\n', "b.toml")
    two_keys = quotes.run("packs", "--config", str(file))
    quotes.install("rivals", GROUP, "quotes", BRINGS, "program")
    two_distributions = quotes.run("packs", "--config", settings(quotes, "well"))

    assert "packs.wisdom: python must not stand beside quotes" in beside_python.err
    assert "packs.wisdom: one worker must be chosen, not quotes and sayings" in two_keys.err
    assert "both bring the worker 'quotes'" in two_distributions.err
    assert {beside_python.code, two_keys.code, two_distributions.code} == {1}


def test_further_keys_of_the_distribution_stand_beside_the_workers_and_are_told(
    quotes: Home,
) -> None:
    info = next((quotes.folder / "packs" / "quotes").glob("*.dist-info"))
    with (info / "entry_points.txt").open("a") as points:
        points.write("[mcp_host.worker_keys]\nauthor = quotes_plugin\npython = quotes_plugin\n")
    plugin = quotes.folder / "packs" / "quotes" / "quotes_plugin.py"
    told = '{"QUOTED": f"{place.key} {sorted(place.beside.items())}"}'
    plugin.write_text(plugin.read_text().replace('{"QUOTED": "yes"}', told))
    file = quotes.write('[packs.wisdom]\nquotes = "well"\nauthor = "A"\npython = "p"\n', "a.toml")

    done = quotes.run("call", "wisdom_quote", "--config", str(file))
    shown = quotes.run("config", "show", "--resolved", "--json", "--config", str(file))

    assert done.out == "quotes [('author', 'A'), ('python', 'p')]\n"
    assert shown.json["packs"]["wisdom"]["author"] == "A"


def test_a_key_that_nothing_knows_is_refused_as_ever(quotes: Home) -> None:
    file = quotes.write('[packs.wisdom]\nquote = "a"\n', "a.toml")

    assert "unknown key" in quotes.run("packs", "--config", str(file)).err


def test_the_page_tells_how_a_frame_is_written() -> None:
    head, body = {"reply": 1, "answered": "ok"}, b"{}"
    written = json.dumps(head, separators=(",", ":")).encode("ascii")

    frames = Frames()
    frames.feed(HEADER.pack(len(written), len(body)) + written + body)

    assert frames.next() == (head, body)
    assert frame(head, body)[:4] == len(written).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("body", "is_wire"),
    [
        (b'{"content":[],"_meta":{"a":1}}', True),
        (b'{"content":[],\n"_meta":{"a":1}}', False),
        (b'{"_meta":{"a":1},"content":{"b":{}}}', False),
        (b'{"content":[],"_meta":{}}', False),
        (b'{"content":[]}', False),
        (b"[1]", False),
    ],
)
def test_what_a_process_calls_ready_for_the_wire_is_looked_at(body: bytes, is_wire: bool) -> None:
    assert reply_of({"answered": "ok", "wire": True}, body) == Answered(body, "ok", is_wire)


def test_an_answer_of_a_process_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="EOF"):
        reply_of({"answered": "ok", "wire": True}, b'{"content":[]')
