"""The page in a real browser, while others work on the plan."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import chromium
import pytest
from chromium import Tab
from mcp_host import PageServer
from mcp_host_tasky.cli.ui.server import serve
from mcp_host_tasky.service import Caller, Tasks
from tasky_lab import Plans, create, edit, get, names

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None,
    reason="THE PAGE'S OWN CODE WAS NOT TESTED: there is no Chromium here (apt install chromium)",
)
NAMES = "[...document.querySelectorAll('#timeline > .event .link')].map((one) => one.innerText)"
DETAIL = "document.querySelector('#detail').innerText"


@pytest.fixture
def plan(plans: Plans) -> Tasks:
    return plans.open("sqlite")


@contextmanager
def served(plan: Tasks, *, write: bool, port: int = 0) -> Iterator[str]:
    told: list[str] = []
    servers: list[PageServer] = []
    ready = threading.Event()

    def started(made: PageServer) -> None:
        servers.append(made)
        ready.set()

    thread = threading.Thread(
        target=lambda: serve(lambda: plan, port, write=write, ready=told.append, started=started)
    )
    thread.start()
    assert ready.wait(30)
    try:
        yield told[0]
    finally:
        servers[0].stop()
        thread.join()


@pytest.fixture
def address(plan: Tasks) -> Iterator[str]:
    with served(plan, write=True) as address:
        yield address


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with chromium.tab(tmp_path / "browser") as tab:
        tab.size(1200, 800)
        yield tab


def opened(tab: Tab, address: str) -> None:
    tab.open(address)
    tab.wait("document.body?.dataset?.ready === 'yes' && !!document.querySelector('#live.on')")


def test_a_page_of_a_server_that_was_started_again_says_where_to_go_on(
    plan: Tasks, tab: Tab
) -> None:
    with served(plan, write=True) as address:
        opened(tab, address)
    with served(plan, write=True, port=urlsplit(address).port or 0) as again:
        tab.wait("document.body.innerText.includes('Open the address that it printed now')")
        opened(tab, again)


def test_the_timeline_puts_news_on_top_and_draws_nothing_again(
    plan: Tasks, address: str, tab: Tab
) -> None:
    create(plan, "First")
    opened(tab, address)
    tab.press("3")
    tab.wait(f"{NAMES}.includes('First')")
    tab.find("window.first = document.querySelector('#timeline > .event'); first.id = 'kept'")

    for group in range(4):
        create(plan, *(f"T{group}-{n}" for n in range(90)))
        tab.wait(f"{NAMES}[0] === 'T{group}-89'")
        if group == 0:
            assert tab.find("first.isConnected && document.querySelector('#kept') === first")

    assert tab.find(f"{NAMES}.length") == 300  # a page that is open all day stays as fast
    tab.find("document.querySelector('#timeline .more').click()")
    tab.wait(f"{NAMES}.length === 360")
    tab.find("document.querySelector('#timeline .more').click()")
    tab.wait(f"{NAMES}.at(-1) === 'First'")
    assert tab.find("!document.querySelector('#timeline .more')")


def test_news_of_what_stands_further_down_are_told(plan: Tasks, address: str, tab: Tab) -> None:
    ids = create(plan, *(f"T{n:03}" for n in range(70)), "The last one")
    opened(tab, address)
    latest = "document.querySelector('#latest')"
    assert tab.find(f"{latest}.innerText") == ""

    plan.edit([{"action": "note", "task_id": ids[-1], "note": "Seen?"}], Caller("codex"))

    tab.wait(f"{latest}.innerText === 'codex left a note at The last one'")
    assert not tab.find("document.querySelector('#board').innerText.includes('The last one')")
    tab.click(latest)
    tab.wait(f"{DETAIL}.includes('Seen?')")


def test_news_take_nothing_from_who_is_at_work(plan: Tasks, address: str, tab: Tab) -> None:
    ids = create(plan, *(f"T{n:03}" for n in range(130)))
    rows = "document.querySelectorAll('[data-name=ready] .task').length"
    opened(tab, address)
    tab.click("document.querySelector('[data-name=ready] .more')")
    tab.wait(f"{rows} === 120")
    tab.find("document.querySelector('[data-name=ready] .task').focus()")
    tab.press("ArrowDown")
    tab.press("Enter")
    tab.wait("document.activeElement.id === 'detail'")
    tab.press("n")
    tab.type("Half a no")

    edit(plan, "update", ids[1], priority=4)
    tab.wait(f"{DETAIL}.includes('priority: 3 → 4')")
    assert tab.find("document.activeElement.id === 'note' && document.activeElement.value") == (
        "Half a no"
    )
    assert tab.find(rows) == 120
    tab.type("te")
    tab.press("Enter")
    tab.wait(f"{DETAIL}.includes('Half a note') && document.querySelector('#note').value === ''")
    assert get(plan, ids[1])["notes"][0]["text"] == "Half a note"
    tab.press("Escape")
    tab.press("Escape")

    assert tab.find("document.activeElement.dataset.open") == ids[1]
    create(plan, "Urgent", priority=5)
    tab.wait("document.querySelector('[data-name=ready] .task').innerText.includes('Urgent')")
    assert tab.find("document.activeElement.dataset.open") == ids[1]
    assert tab.find("document.querySelector('[data-name=ready] .task.fresh') !== null")


def test_a_click_counts_though_news_come_while_the_button_is_down(
    plan: Tasks, address: str, tab: Tab
) -> None:
    create(plan, "Dig")
    card = "document.querySelector('[data-name=ready] .task')"
    asked = "performance.getEntriesByType('resource').filter((e) => /board/.test(e.name)).length"
    opened(tab, address)
    tab.wait(f"{asked} > 1")  # once more when the stream was open
    before = tab.find(asked)

    tab.point("mousePressed", card)
    (urgent,) = create(plan, "Urgent", priority=5)
    tab.wait(f"{asked} > {before}")
    tab.point("mouseReleased", card)

    tab.wait(f"{DETAIL}.includes('Dig')")
    tab.wait(f"{card}.dataset.open === '{urgent}'")


def test_arrows_in_the_graph_lead_to_where_they_point(plan: Tasks, address: str, tab: Tab) -> None:
    first, second = create(plan, "First", "Second")
    (third,) = create(plan, "Third", blockers=[first, second])
    at = "document.activeElement.dataset.open"
    opened(tab, address)
    tab.press("2")
    tab.wait("document.querySelectorAll('#graph .node').length === 3")

    tab.press("j")
    above = tab.find(at)
    tab.press("ArrowDown")
    below = tab.find(at)
    tab.press("l")
    right = tab.find(at)
    tab.press("j")
    still = tab.find(at)
    tab.press("h")

    assert {above, below} == {first, second}
    assert (right, still) == (third, third)
    assert tab.find(at) in (first, second)


def test_the_task_that_the_graph_is_drawn_around_is_in_sight_and_has_the_focus(
    plan: Tasks, address: str, tab: Tab
) -> None:
    before = create(plan, *(f"Before {n}" for n in range(60)))
    (middle,) = create(plan, "Middle", blockers=before)
    create(plan, "Last", blockers=[middle, *before])
    opened(tab, address)
    tab.press("/")
    tab.type("Before 59")
    tab.wait("document.querySelectorAll('[data-name=ready] .task').length === 1")
    tab.press("Enter")
    tab.click("document.querySelector('[data-name=ready] .task')")
    tab.wait(f"{DETAIL}.includes('Before 59')")

    tab.press("g")

    tab.wait("document.activeElement.classList.contains('around')")
    assert tab.find("document.activeElement.dataset.open") == before[59]
    assert tab.find(
        "(() => { const box = document.activeElement.getBoundingClientRect(), view ="
        " document.querySelector('#graph').getBoundingClientRect(); return box.top > view.top"
        " && box.bottom < view.bottom; })()"
    )


def test_a_name_that_its_box_has_no_room_for_ends_in_dots(
    plan: Tasks, address: str, tab: Tab
) -> None:
    wide, thin = create(plan, "W" * 40, "i" * 30)
    create(plan, "Next", blockers=[wide, thin])
    opened(tab, address)
    tab.press("2")
    tab.wait("document.querySelectorAll('#graph .node').length === 3")

    shown = tab.find(
        "[...document.querySelectorAll('#graph .node text:not(.small)')]"
        ".map((one) => [one.textContent, one.getComputedTextLength()])"
    )

    assert {name for name, _ in shown if not name.startswith("W")} == {"i" * 30, "Next"}
    assert [name[-1] for name, _ in shown if name.startswith("W")] == ["…"]
    assert all(width < 202 for _, width in shown)


def test_on_a_narrow_screen_the_first_column_with_a_task_is_in_sight(
    plan: Tasks, address: str, tab: Tab
) -> None:
    create(plan, "Dig")
    tab.size(400, 800)

    opened(tab, address)

    tab.wait("document.querySelector('[data-name=ready]').getBoundingClientRect().left < 50")


def test_on_a_narrow_screen_what_a_search_found_comes_into_sight(
    plan: Tasks, address: str, tab: Tab
) -> None:
    _, sow = create(plan, "Dig", "Sow")
    edit(plan, "claim", sow)
    tab.size(400, 800)
    opened(tab, address)
    left = "document.querySelector('[data-name=ready]').getBoundingClientRect().left"
    assert tab.find(left) > 300

    tab.press("/")
    tab.type("Dig")

    tab.wait(f"{left} < 50")


def test_a_word_that_is_wider_than_its_card_goes_on_in_the_next_line(
    plan: Tasks, address: str, tab: Tab
) -> None:
    create(plan, "Dig", details="Needle " + "W" * 90)
    tab.size(400, 800)
    opened(tab, address)
    card = "document.querySelector('[data-name=ready] .task')"

    tab.press("/")
    tab.type("Needle")

    tab.wait(f"{card}?.innerText.includes('WWWW')")
    assert tab.find(f"{card}.scrollWidth <= {card}.clientWidth")


def test_the_timeline_says_whose_claim_was_given_back_and_repeats_no_verb(
    plan: Tasks, address: str, tab: Tab
) -> None:
    (task,) = create(plan, "Dig")
    plan.edit([{"action": "claim", "task_id": task}], Caller("codex"))
    plan.edit([{"action": "release", "task_id": task}], Caller("ann"), force=True)
    plan.edit([{"action": "complete", "task_id": task}], Caller("ann"))
    opened(tab, address)
    tab.press("3")
    rows = "[...document.querySelectorAll('#timeline > .event')]"
    tab.wait(f"{rows}.length === 4")

    said = tab.find(f"{rows}.map((row) => row.querySelector('.changes')?.innerText ?? '')")

    assert said == ["", "claimed by: codex → –", "", ""]


def test_a_deleted_task_is_read_in_the_timeline_and_brought_back_by_a_click(
    plan: Tasks, address: str, tab: Tab
) -> None:
    (task,) = create(plan, "Dig", details="Deep")
    edit(plan, "note", task, note="Half done")
    edit(plan, "delete", task)
    opened(tab, address)
    tab.press("3")
    tab.wait(f"{NAMES}.length === 3")

    tab.click("document.querySelector('#timeline .link')")
    tab.wait(f"{DETAIL}.includes('deleted') && {DETAIL}.includes('Half done')")
    tab.press("Escape")
    tab.click("document.querySelector('#timeline .undo')")
    tab.wait(f"{NAMES}.length === 4")

    assert get(plan, task)["details"] == "Deep"
    assert tab.find("!!document.querySelector('#timeline > .event.undone')")


def test_who_only_looks_is_offered_nothing_and_is_told_why_a_key_does_nothing(
    plan: Tasks, tab: Tab
) -> None:
    (task,) = create(plan, "Dig")
    with served(plan, write=False) as address:
        opened(tab, address)
        tab.find("document.querySelector('.task').focus()")
        tab.press("Enter")
        tab.wait(f"{DETAIL}.includes('Dig')")
        buttons = "[...document.querySelectorAll('#detail button')].map((one) => one.innerText)"
        assert tab.find(buttons) == ["✕", "Graph"]
        tab.press("c")
        tab.wait("document.querySelector('#told').innerText.includes('--write')")
    assert get(plan, task)["status"] == "pending"


ATTACK = """<!doctype html><meta charset=utf-8><body data-done="">
<form method=post action="{url}api/edit" enctype=text/plain target=away><input name='{{"action":
"complete","task_id":"{task}","x":"' value='"}}'></form><iframe name=away></iframe><script>
const got = [];
const tries = [
  fetch("{url}api/board", {{credentials: "include"}}).then((a) => a.text()),
  fetch("{url}api/plan", {{credentials: "include", mode: "no-cors"}}).then((a) => a.text()),
  fetch("{url}api/edit", {{method: "POST", credentials: "include", mode: "no-cors",
    body: JSON.stringify({{action: "complete", task_id: "{task}"}})}}).then(() => ""),
  new Promise((done, failed) => {{ const s = document.createElement("script");
    s.src = "{url}page.js"; s.onload = () => done("script"); s.onerror = failed;
    document.body.append(s); }}),
  new Promise((done, failed) => {{ const s = new EventSource("{url}events",
    {{withCredentials: true}}); s.onmessage = s.onopen = () => done("events");
    s.onerror = failed; }}),
];
document.forms[0].submit();
Promise.allSettled(tries).then((all) => {{
  for (const one of all) if (one.status === "fulfilled" && one.value) got.push(one.value);
  document.body.dataset.got = JSON.stringify(got); document.body.dataset.done = "yes";
}});
</script>"""


def test_a_page_of_another_origin_reads_and_changes_nothing(
    plan: Tasks, address: str, tab: Tab
) -> None:
    (task,) = create(plan, "Secret")
    opened(tab, address)  # the browser has the cookie
    body = ATTACK.format(url=address.partition("?")[0], task=task).encode()

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    foreign = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    thread = threading.Thread(target=foreign.serve_forever)
    thread.start()
    try:
        for host in ("127.0.0.1", "localhost"):
            tab.open(f"http://{host}:{foreign.server_port}/")
            tab.wait("document.body?.dataset?.done === 'yes'")
            assert tab.find("document.body.dataset.got") == "[]"
    finally:
        foreign.shutdown()
        foreign.server_close()
        thread.join()
    assert names(plan, Caller("x"), status="pending") == ["Secret"]
