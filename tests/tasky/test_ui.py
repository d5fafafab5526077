"""Something to look at: the page, who may see it and what it may do, and the terminal."""

import http.client
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp_host import PageServer
from mcp_host_tasky.cli.ui import server
from mcp_host_tasky.cli.ui.server import serve
from mcp_host_tasky.service import Caller, Search, Tasks
from tasky_lab import ME, Person, Plans, create, edit, get, refusal

NODE = shutil.which("node")
SCRIPTS = sorted((Path(server.__file__).parent / "static").glob("*.js"))


@dataclass
class Browser:
    """Asks the page as a browser does that keeps its cookie."""

    url: str
    cookie: str = ""

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def ask(
        self, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        given = {"Cookie": self.cookie} | {k.replace("_", "-"): v for k, v in headers.items()}
        method = "GET" if body is None else "POST"
        if body is not None:
            given = {"Origin": f"http://{self.host}"} | given
        connection.request(method, path, json.dumps(body) if body is not None else None, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, json.loads(text) if is_json else text, answer.headers

    def open(self) -> "Browser":
        status, _, headers = self.ask("/" + self.url.partition("/?")[2].join(["?", ""]))
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]
        return self

    def api(self, name: str, **query: str) -> Any:
        rest = "&".join(f"{key}={value}" for key, value in query.items())
        status, data, _ = self.ask(f"/api/{name}?{rest}")
        assert status == 200, data
        return data


@pytest.fixture
def plan(plans: Plans) -> Tasks:
    return plans.open("sqlite")


def shown(plan: Tasks, *, write: bool) -> Iterator[Browser]:
    told: list[str] = []
    servers: list[PageServer] = []
    ready = threading.Event()

    def started(made: PageServer) -> None:
        servers.append(made)
        ready.set()

    thread = threading.Thread(
        target=lambda: serve(lambda: plan, 0, write=write, ready=told.append, started=started)
    )
    thread.start()
    assert ready.wait(30)
    yield Browser(told[0])
    servers[0].stop()
    thread.join()


@pytest.fixture
def page(plan: Tasks) -> Iterator[Browser]:
    yield from shown(plan, write=True)


@pytest.fixture
def reading_page(plan: Tasks) -> Iterator[Browser]:
    yield from shown(plan, write=False)


def test_the_address_lets_in_once_and_becomes_a_cookie(page: Browser) -> None:
    path = page.url.partition(page.host)[2]
    assert page.ask("/")[0] == page.ask("/api/plan")[0] == page.ask("/?token=wrong")[0] == 403

    status, _, headers = page.ask(path)

    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert page.url.rpartition("=")[2] not in cookie
    assert page.ask(path)[0] == 403  # used
    page.cookie = cookie.partition(";")[0]
    assert "<title>Tasky</title>" in page.ask("/")[1]
    assert page.ask(path)[0] == 303  # who is in already stays in
    assert page.ask("/events", Cookie="tasky=x")[0] == 403


def test_all_that_the_page_needs_is_its_own(page: Browser) -> None:
    page.open()
    html = page.ask("/")[1]

    for name in re.findall(r'(?:href|src)="([^"]+)"', html):
        assert "//" not in name
        assert page.ask(f"/{name}")[0] == 200
    assert "<script>" not in html
    assert "style=" not in html
    assert len(SCRIPTS) > 1
    for file in SCRIPTS:
        script = page.ask(f"/{file.name}")[1]
        assert "innerHTML" not in script
        assert "http://" not in script.replace("http://www.w3.org/2000/svg", "")


def test_the_board_shows_states_and_who_holds_what_since_when(plan: Tasks, page: Browser) -> None:
    dig, sow, done = create(plan, "Dig", "Sow", "Done", tags=["garden"])
    edit(plan, "update", sow, blockers=[dig])
    edit(plan, "complete", done)
    (free,) = create(plan, "Free", priority=5)
    plan.edit([{"action": "claim", "task_id": dig}], Caller("codex"))

    board = page.open().api("board")

    names = {name: [row["name"] for row in column["rows"]] for name, column in board.items()}
    assert names == {
        "held": ["Dig"],
        "ready": ["Free"],
        "waiting": ["Sow"],
        "completed": ["Done"],
        "cancelled": [],
    }
    held = board["held"]["rows"][0]
    assert held["claimed_by"] == "codex"
    assert held["claimed_since"] < held["claimed_until"]
    assert page.api("board", column="ready", priority="5")["total"] == 1
    assert page.api("board", column="ready", tag="garden")["total"] == 0
    assert page.api("board", q="sow")["waiting"]["total"] == 1
    assert page.api("board", holder="codex")["ready"]["total"] == 0
    assert page.api("board", holder="nobody")["held"]["total"] == 0
    assert page.api("task", id=free[:8])["history"][0]["action"] == "create"
    assert page.ask("/api/task?id=zz")[0] == 422
    assert page.ask("/api/task?id=ffffffff")[0] == 404


def test_a_column_goes_on_by_its_cursor(plan: Tasks, page: Browser) -> None:
    create(plan, *(f"T{n}" for n in range(90)))

    first = page.open().api("board")["ready"]
    rest = page.api("board", column="ready", cursor=first["cursor"])

    assert (len(first["rows"]), len(rest["rows"]), first["total"]) == (60, 30, 90)
    assert rest["cursor"] is None


def test_what_was_finished_last_stands_first(plan: Tasks, page: Browser) -> None:
    ids = create(plan, *(f"T{n:02}" for n in range(70)), priority=5)
    plan.edit([{"action": "complete", "task_id": one} for one in ids], ME)
    late, early, again = create(plan, "Late", "Early", "Again", priority=1, tags=["garden"])
    for task in (again, early):
        edit(plan, "complete", task)
    edit(plan, "update", late, status="completed")
    edit(plan, "reopen", again)
    edit(plan, "complete", again)
    edit(plan, "note", early, note="A change that finishes nothing")

    def column(**query: str) -> list[str]:
        found = page.api("board", **query)
        return [row["name"] for row in found.get("completed", found)["rows"]]

    shown = column() if page.open() else []
    assert shown[:4] == ["Again", "Late", "Early", "T69"]
    assert column(tag="garden") == ["Again", "Late", "Early"]
    assert column(priority="1") == ["Again", "Late", "Early"]
    assert column(q="early") == ["Early"]
    cursor = page.api("board", column="completed")["cursor"]
    edit(plan, "reopen", ids[0])
    edit(plan, "complete", ids[0])
    rest = page.api("board", column="completed", cursor=cursor)
    assert rest["cursor"] is None
    names_of_rest = [row["name"] for row in rest["rows"]]
    assert sorted([*shown, *names_of_rest]) == sorted(
        [*(f"T{n:02}" for n in range(70)), "Late", "Early", "Again"]
    )
    assert page.ask("/api/board?column=completed&cursor=f1x.")[0] == 422


def test_what_no_event_tells_of_follows_in_the_plans_order(plans: Plans) -> None:
    plan = plans.open("sqlite")
    ids = create(plan, *(f"T{n}" for n in range(1_000)))
    first, *others = ids
    edit(plan, "complete", first)
    plan.edit([{"action": "note", "task_id": one, "note": "x"} for one in ids[1:]], ME)
    edit(plan, "note", first, note="Now its end is out of sight")
    plan.edit([{"action": "complete", "task_id": one} for one in others[:3]], ME)

    seen: list[str] = []
    cursor = None
    while cursor or not seen:
        page = plan.finished(Search(status="completed", limit=2, cursor=cursor), ME)
        assert page.total == 4
        seen += [str(row["name"]) for row in page.rows]
        cursor = page.next_cursor
    assert seen == ["T3", "T2", "T0", "T1"]
    assert len(plan.finished(Search(status="completed", limit=3), ME).rows) == 3


def test_a_page_that_only_shows_changes_nothing(plan: Tasks, reading_page: Browser) -> None:
    (task,) = create(plan, "Dig")
    page = reading_page.open()

    status, said, _ = page.ask("/api/edit", {"action": "complete", "task_id": task})

    assert (status, page.api("plan")["writes"]) == (403, False)
    assert "--write" in said["error"]
    assert get(plan, task)["status"] == "pending"


def test_a_page_that_may_write_completes_frees_and_takes_back(plan: Tasks, page: Browser) -> None:
    (task,) = create(plan, "Dig")
    plan.edit([{"action": "claim", "task_id": task}], Caller("codex"))
    page.open()
    complete = {"action": "complete", "task_id": task}

    status, said, _ = page.ask("/api/edit", complete)
    assert (status, said["reason"]) == (409, "claimed")
    assert page.ask("/api/edit", {"action": "release", "task_id": task, "force": True})[0] == 200
    assert page.ask("/api/edit", complete)[0] == 200
    event = next(one for one in page.api("events") if one["action"] == "complete")
    assert page.ask("/api/edit", {"action": "undo", "event_id": event["event_id"]})[0] == 200
    assert get(plan, task)["status"] == "pending"
    for body in ([], "x"):
        assert page.ask("/api/edit", body)[0] == 400
    assert page.ask("/api/edit", complete, Origin="http://evil.example")[0] == 403
    assert page.ask("/api/edit", complete, Sec_Fetch_Site="cross-site")[0] == 403
    assert get(plan, task)["status"] == "pending"


def test_the_page_hears_of_every_change(plan: Tasks, page: Browser) -> None:
    page.open()
    connection = http.client.HTTPConnection(page.host, timeout=30)
    connection.request("GET", "/events", headers={"Cookie": page.cookie})
    stream = connection.getresponse()
    assert stream.readline() == b": open\n"

    create(plan, "News")
    lines = [stream.readline().decode() for _ in range(3)]

    assert lines[1] == "event: events\n"
    (event,) = json.loads(lines[2].removeprefix("data:"))
    assert (event["name"], event["action"]) == ("News", "create")


def test_the_graph_shows_what_waits_for_what(plan: Tasks, page: Browser) -> None:
    first, second, third, other = create(plan, "First", "Second", "Third", "Alone")
    edit(plan, "update", second, blockers=[first])
    edit(plan, "update", third, blockers=[second])
    edit(plan, "complete", first)

    whole = page.open().api("graph")
    around = page.api("graph", around=third[:8])

    assert whole["edges"] == [[second, third]]
    assert sorted(node["name"] for node in around["nodes"]) == ["First", "Second", "Third"]
    assert [first, second] in around["edges"]
    assert [node["name"] for node in page.api("graph", around=other)["nodes"]] == ["Alone"]
    assert refusal(lambda: plan.graph("ffffffff")).reason == "task_not_found"


def test_a_graph_is_cut_where_it_would_be_too_large(plan: Tasks) -> None:
    items = [
        {"ref": f"r{n}", "name": f"T{n}", "blockers": [f"r{n - 1}"] if n else []} for n in range(60)
    ]
    plan.create(items, ME)

    graph = plan.graph(limit=20)

    assert len(graph["nodes"]) == 20  # type: ignore[arg-type]
    assert len(graph["edges"]) == 19  # type: ignore[arg-type]
    assert graph["is_cut"]


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_pages_scripts_can_be_read(script: Path) -> None:
    assert NODE

    done = subprocess.run([NODE, "--check", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_what_agents_write_is_text_on_the_page(plan: Tasks, page: Browser) -> None:
    """The script sets texts as text; what is asked comes as JSON, which no browser draws."""
    create(plan, "<img src=x onerror=alert(1)>")
    page.open()

    _, _, headers = page.ask("/api/board")

    assert headers["content-type"].startswith("application/json")
    assert headers["x-content-type-options"] == "nosniff"


def test_the_terminal_shows_board_graph_and_news(ann: Person) -> None:
    ann("project", "init")
    dig = ann.data("add", "Dig", "--priority", "5")["task_id"]
    sow = ann.data("add", 'Sow "peas" [here]', "--blocker", dig)["task_id"]
    ann("claim", dig)

    board = ann("board")
    assert "in work (1)" in board
    assert "waiting (1)" in board
    assert ann.data("board")["in work"]["tasks"][0]["name"] == "Dig"
    tree = ann("graph")
    assert tree.index("Dig") < tree.index("└── ") < tree.index("Sow")
    drawn = ann("graph", dig, "--mermaid")
    assert drawn.startswith("flowchart LR\n")
    assert f'  t{sow[:8]}["Sow #quot;peas#quot; (here)"]:::pending' in drawn
    assert f"  t{dig[:8]} --> t{sow[:8]}" in drawn
    assert ann.data("graph")["edges"] == [[dig, sow]]
    assert "claim" in ann("watch", "--once")
    lines = ann("watch", "--once", "--json", "--since", "2").splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["create", "claim"]
    shown_task = ann("show", sow)
    assert f"{dig[:8]} Dig" in shown_task
    assert "nothing waits" in replaced(ann, dig, sow)


def test_what_is_looked_at_is_followed_to_another_store(ann: Person) -> None:
    ann("project", "init")
    ann("add", "Before")
    with ann.begun("watch", "--json") as watch, ann.begun("ui", "--write") as page:
        assert watch.stdout
        assert page.stdout
        try:
            assert json.loads(watch.stdout.readline())["name"] == "Before"
            browser = Browser(page.stdout.readline().split()[5]).open()

            ann("migrate", "json")

            task = ann.data("add", "After")["task_id"]
            assert json.loads(watch.stdout.readline())["name"] == "After"
            assert browser.api("plan")["store"] == "json"
            assert browser.ask("/api/edit", {"action": "complete", "task_id": task})[0] == 200
            assert ann.data("show", task)[0]["status"] == "completed"
        finally:
            watch.terminate()
            page.terminate()


def replaced(ann: Person, *ids: str) -> str:
    ann("release", ids[0])
    ann("done", *ids)
    return ann("graph")
