"""In and out of everything: what other tools keep comes in, goes out as it was, and comes again."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from mcp_host_tasky.errors import ConflictError, InvalidError
from mcp_host_tasky.service import Search, Tasks
from mcp_host_tasky.service.formats import FORMATS, bound_for, found_in, named, records_of
from mcp_host_tasky.service.imports import Report
from mcp_host_tasky.storage import open_store
from tasky_lab import ME, Person, Plans, create, edit, everything, get, refusal

T1, T2 = "2026-01-12T02:16:51Z", "2026-02-28T03:54:42Z"
BEADS = [
    {
        "id": "bd-a1", "title": "Speed up the tests", "description": "They take 81s.",
        "design": "Share the server.", "notes": "Added t.Parallel().", "status": "in_progress",
        "priority": 1, "issue_type": "bug", "assignee": "quartz", "created_at": T1,
        "updated_at": T2, "labels": ["CI", "speed"], "estimated_minutes": 30,
        "due_at": "2026-12-01T17:00:00Z",
        "dependencies": [
            {"issue_id": "bd-a1", "depends_on_id": "bd-b2", "type": "blocks", "created_at": T1},
            {"issue_id": "bd-a1", "depends_on_id": "bd-gone", "type": "blocks", "created_at": T1},
            {"issue_id": "bd-a1", "depends_on_id": "bd-c3", "type": "related", "created_at": T1},
        ],
        "comments": [
            {"id": 1, "issue_id": "bd-a1", "author": "giles", "text": "Why?", "created_at": T1}
        ],
    },
    {"id": "bd-b2", "title": "Find what is slow", "status": "closed", "priority": 0,
     "issue_type": "task", "created_at": T1, "updated_at": T2, "closed_at": T2,
     "close_reason": "Done", "description": "## Design\n\nAmbiguous"},
    {"id": "bd-c3", "title": "Epic", "status": "hooked", "priority": 4, "issue_type": "epic",
     "created_at": T1, "updated_at": T2},
    {"id": "bd-c3.1", "title": "Part", "status": "open", "priority": 2, "issue_type": "task",
     "created_at": T1, "updated_at": T2,
     "dependencies": [
         {"issue_id": "bd-c3.1", "depends_on_id": "bd-c3", "type": "parent-child",
          "created_at": T1},
         {"issue_id": "bd-c3.1", "depends_on_id": "bd-a1", "type": "discovered-from",
          "created_at": T1},
     ]},
]  # fmt: skip
TASK_MASTER = {
    "master": {
        "tasks": [
            {"id": 1, "title": "Parser", "description": "Read it.", "status": "done",
             "dependencies": [], "priority": "high", "details": "- JSON", "testStrategy": "Try it.",
             "subtasks": [], "previousStatus": "in-progress"},
            {"id": 2, "title": "Writer", "description": "", "status": "in-progress",
             "dependencies": [1], "priority": "low", "details": "", "testStrategy": "",
             "complexity": 7, "subtasks": [
                 {"id": 1, "title": "Open", "description": "", "details": "", "testStrategy": "",
                  "status": "review", "dependencies": []},
                 {"id": 2, "title": "Close", "description": "", "details": "", "testStrategy": "",
                  "status": "pending", "dependencies": [1, "2.1"], "parentTaskId": 2},
             ]},
        ],
        "metadata": {"description": "master tasks"},
    },
    "loop": {
        "tasks": [
            {"id": 1, "title": "Again", "description": "Same number, other tag.",
             "status": "cancelled", "dependencies": [], "priority": "medium", "details": "",
             "testStrategy": "", "subtasks": []}
        ],
        "metadata": {"description": "loop tasks"},
    },
}  # fmt: skip
BACKLOG = {
    "tasks/back-200 - Add-it.md": """---
id: BACK-200
title: 'CLI: Add it'
status: In Progress
assignee:
  - '@codex'
created_date: '2025-07-23'
updated_date: '2025-09-06 21:22'
labels:
  - CLI
dependencies:
  - task-7
  - BACK-999
priority: medium
ordinal: 22000
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Add it.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 It is there
- [ ] #2 It works
<!-- AC:END -->
""",
    "completed/back-7 - Before.md": """---
id: BACK-7
title: Before
status: Done
assignee: [@ann, bob]
created_date: '2025-07-01'
labels: []
dependencies: []
parent_task_id: BACK-200
---

## Description

Done long ago.
""",
}
GITHUB = [
    {"number": 12, "title": "Crash", "body": "It crashes.", "state": "OPEN", "stateReason": "",
     "labels": [{"id": "L1", "name": "bug", "color": "red"}], "assignees": [{"login": "ann"}],
     "comments": [{"author": {"login": "ben"}, "body": "Here too.", "createdAt": T1}],
     "createdAt": T1, "updatedAt": T2, "url": "https://github.com/o/r/issues/12"},
    {"number": 13, "title": "Old", "body": "", "state": "CLOSED", "stateReason": "NOT_PLANNED",
     "labels": [], "createdAt": T1, "updatedAt": T2, "url": "https://github.com/o/r/issues/13"},
]  # fmt: skip
OPENSPEC = """## 1. Database

- [x] 1.1 Create the table
- [ ] 1.2 Fill it
  With what is there.

## 2. Page

- [ ] 2.1 Show it
"""
CHECKLIST = """# Garden

## Spring

- [x] Dig
- [ ] Sow
  - [ ] Peas
  - [-] Beans
- [ ] Sow

Nothing else.
"""
CSV = """Key;Summary;Status;Priority;Labels;Blocked by;Sprint
A-1;Dig;Done;High;garden, spring;;7
A-2;"Sow; soon";In Progress;Low;;A-1;8
"""
FILES: dict[str, dict[str, str]] = {
    "beads": {"issues.jsonl": "".join(json.dumps(one) + "\n" for one in BEADS)},
    "task-master": {"tasks.json": json.dumps(TASK_MASTER)},
    "backlog": BACKLOG,
    "github": {"issues.json": json.dumps(GITHUB)},
    "openspec": {"add-page/tasks.md": OPENSPEC},
    "markdown": {"garden.md": CHECKLIST},
    "csv": {"garden.csv": CSV},
}


def bring(plan: Tasks, form: str, files: dict[str, str] | None = None) -> Report:
    return plan.bring_in(named(form).read(files or FILES[form]), form, ME)


def by_name(plan: Tasks) -> dict[str, dict[str, Any]]:
    return {str(view["name"]): view for view in everything(plan)}


@pytest.fixture
def plan(plans: Any) -> Tasks:
    tasks: Tasks = plans.open("sqlite")
    return tasks


@pytest.mark.parametrize("form", FILES)
def test_a_format_is_found_by_looking(form: str) -> None:
    path, content = next(iter(FILES[form].items()))

    assert found_in(path, content).name == form
    if form != "openspec":  # whose change is the folder's name
        assert found_in("-", content).name == form


@pytest.mark.parametrize("form", FILES)
def test_a_second_import_finds_all_of_it_there(plan: Tasks, form: str) -> None:
    first = bring(plan, form)
    before = everything(plan)
    second = bring(plan, form)

    assert first.created == len(before) > 1
    assert (second.created, second.updated, second.unchanged) == (0, 0, first.created)
    assert everything(plan) == before


def test_beads_come_in_with_all_they_say(plan: Tasks) -> None:
    report = bring(plan, "beads")
    found = by_name(plan)

    one = found["Speed up the tests"]
    assert (one["status"], one["priority"], one["tags"]) == ("pending", 4, ["ci", "speed"])
    assert one["details"] == (
        "They take 81s.\n\n## Design\n\nShare the server.\n\n## Notes\n\nAdded t.Parallel()."
    )
    assert one["due_date"] == "2026-12-01T17:00:00Z"
    assert one["blockers"] == [found["Find what is slow"]["task_id"]]
    assert one["notes"] == [{"at": "2026-01-12T02:16:51.000000Z", "by": "giles", "text": "Why?"}]
    assert one["created_at"] == "2026-01-12T02:16:51.000000Z"
    assert one["source"] == {"format": "beads", "id": "bd-a1"}
    (view,) = plan.get([one["task_id"]], fields=["source"])
    assert view["source"]["kept"]["estimated_minutes"] == 30  # type: ignore[index,call-overload]
    part = found["Part"]
    assert part["subtask_of"] == found["Epic"]["task_id"]
    assert part["discovered_from"] == one["task_id"]
    assert found["Find what is slow"]["status"] == "completed"
    assert report.warnings == [
        "1 relations name tasks that are not there; they are kept with the source."
    ]


def taken_out(plan: Tasks, form: str) -> dict[str, str]:
    return plan.taken_out(named(form))


def test_beads_go_out_as_they_came(plan: Tasks) -> None:
    bring(plan, "beads")

    lines = taken_out(plan, "beads")[""].splitlines()

    again = {one["id"]: one for one in map(json.loads, lines)}
    for one in BEADS:
        other = {name: again[str(one["id"])].get(name) for name in one}
        for name in ("created_at", "updated_at", "comments"):
            other.pop(name, None)
        assert other.items() <= one.items()


BARE_BEADS = """\
{"id": "bd-1", "title": "No text", "status": "tombstone", "priority": 2, "labels": [" CI ", ""], \
"created_at": "2025-12-08T06:49:04.449094018-07:00", "updated_at": "2025-12-08T06:49:04-07:00"}
{"id": "bd-2", "title": "Open again", "description": "Ends with a blank: ", "status": "open", \
"priority": 2, "closed_at": "2025-12-08T13:49:04Z", "created_at": "2025-12-08T13:49:04Z", \
"updated_at": "2025-12-08T13:49:04Z", "dependencies": []}
"""
OLD_TASK_MASTER = {
    "meta": {"projectName": "P"},
    "tasks": [{"id": 1, "title": "A", "status": "pending", "testStrategy": None}],
}
DEEP_TASK_MASTER = {
    "master": {
        "tasks": [
            {"id": 1, "title": "A", "description": "", "subtasks": [
                {"id": 1, "title": "B", "dependencies": [], "subtasks": [
                    {"id": 1, "title": "C"}, {"id": 2, "title": "D", "dependencies": [1]}]}]},
        ],
        "metadata": {"description": "master tasks"},
    },
    "later": {"tasks": [], "metadata": {"description": "no task yet"}},
}  # fmt: skip
LONG_GITHUB = [
    {"number": 1, "title": "Long", "body": "a b " * 16_000, "state": "OPEN",
     "labels": [{"name": "area: page, board"}], "createdAt": T1, "updatedAt": T2,
     "comments": [{"author": {"login": "b"}, "body": "c" * 12_000, "createdAt": T1, "id": "IC_1"}]},
]  # fmt: skip
PROSE = """# Plan

Some words before.

- [ ] Alpha
      further in
    * [X] Part
- [/] Begun

```sh
- [ ] an example
```

<!-- - [ ] hidden
- [ ] hidden too -->
1. [ ] Last

The end.
"""


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("form", "name", "content", "parsed"),
    [
        ("beads", "issues.jsonl", BARE_BEADS, lines_of),
        ("task-master", "tasks.json", json.dumps(OLD_TASK_MASTER), json.loads),
        ("task-master", "tasks.json", json.dumps([{"id": "1", "title": "A"}]), json.loads),
        ("task-master", "tasks.json", json.dumps(DEEP_TASK_MASTER), json.loads),
        ("github", "issues.json", json.dumps(LONG_GITHUB), json.loads),
        ("markdown", "plan.md", PROSE, str),
        ("openspec", "add-page/tasks.md", "# Tasks\n\n> Words.\n\n" + OPENSPEC, str),
        ("beads", "issues.jsonl", json.dumps({**BEADS[2], "comments": [], "labels": []}), lines_of),
        ("github", "issues.json", json.dumps([{**GITHUB[1], "comments": []}]), json.loads),
        ("github", "issues.json", json.dumps([{**GITHUB[1], "comments": None}]), json.loads),
        (
            "github",
            "query.json",
            json.dumps([{**GITHUB[1], "comments": {"totalCount": 0, "nodes": []}}]),
            json.loads,
        ),
        ("markdown", "plan.md", PROSE.replace("\n", "\r\n"), str),
        ("markdown", "plan.md", "\n\n- [ ] One\n- [ ] Two", str),
        ("openspec", "add-page/tasks.md", OPENSPEC.replace("\n", "\r\n"), str),
        ("openspec", "add-page/tasks.md", "## 1. A\n\nWords.\n\n- [ ] 1.1 One\n", str),
    ],
    ids=[
        *("beads", "old task-master", "bare list", "three levels", "github", "markdown"),
        *("openspec", "beads without comments", "github without comments", "null", "GraphQL"),
        *("markdown of Windows", "blank lines and a cut end", "openspec of Windows", "a text"),
    ],
)
def test_what_nobody_changed_goes_out_as_it_came(
    plan: Tasks, form: str, name: str, content: str, parsed: Any
) -> None:
    bring(plan, form, {name: content})

    assert parsed(taken_out(plan, form)[""]) == parsed(content)
    assert bring(plan, form, {name: content}).updated == 0


ONE = "---\nid: BACK-1\ntitle: One\nstatus: To Do\nassignee: []\nlabels: []\n---\n"


@pytest.mark.parametrize(
    "files",
    [
        BACKLOG,
        {name: text.replace("\n", "\r\n") for name, text in BACKLOG.items()},
        {"tasks/back-1 - One.md": ONE},
        {"tasks/back-1 - One.md": ONE.rstrip("\n")},
        {"tasks/back-1 - One.md": f"{ONE}\n\n\nText\n\n\n"},
        {"tasks/back-1 - One.md": ONE.replace("One", "Ask ann, @bob [@cy]")},
    ],
    ids=["usual", "of Windows", "empty body", "cut end", "blank lines", "names in the title"],
)
def test_files_of_backlog_that_nobody_changed_stay_letter_by_letter(
    plan: Tasks, files: dict[str, str]
) -> None:
    bring(plan, "backlog", files)

    assert taken_out(plan, "backlog") == files
    assert bring(plan, "backlog", files).unchanged == len(files)


def test_a_file_of_backlog_of_windows_stays_one_when_its_task_changes(plan: Tasks) -> None:
    name = "tasks/back-7 - Before.md"
    text = BACKLOG["completed/back-7 - Before.md"].replace("\n", "\r\n")
    bring(plan, "backlog", {name: text})
    before = by_name(plan)["Before"]
    assert before["details"] == "## Description\n\nDone long ago."

    edit(plan, "update", before["task_id"], details="New\n\ntext", priority=4)

    written = taken_out(plan, "backlog")[name]
    assert written.endswith("---\r\n\r\nNew\r\n\r\ntext\r\n")
    assert "priority: high\r\n" in written
    assert written.count("\n") == written.count("\r\n")


def test_a_heading_stays_above_what_is_left_below_it(plan: Tasks) -> None:
    bring(plan, "openspec")
    edit(plan, "delete", by_name(plan)["Create the table"]["task_id"])
    edit(plan, "update", by_name(plan)["Page"]["task_id"], name="Site")

    site = by_name(plan)["Site"]["task_id"]
    written = taken_out(plan, "openspec")[""]

    assert written == (
        "## 1. Database\n\n- [ ] 1.2 Fill it\n  With what is there.\n\n"
        f"## 2. Site <!-- tasky:{site} -->\n\n- [ ] 2.1 Show it\n"
    )
    assert bring(plan, "openspec", {"add-page/tasks.md": written}).created == 0


def test_what_has_no_field_here_is_brought_up_to_date_too(plan: Tasks) -> None:
    bring(plan, "beads")
    changed = [{**one, "assignee": "new"} if one["id"] == "bd-a1" else one for one in BEADS]

    report = bring(plan, "beads", {"issues.jsonl": "\n".join(map(json.dumps, changed))})

    assert (report.updated, report.unchanged) == (1, 3)
    out = {one["id"]: one for one in lines_of(taken_out(plan, "beads")[""])}
    assert out["bd-a1"] == changed[0]


def test_task_master_goes_out_as_it_came(plan: Tasks) -> None:
    bring(plan, "task-master")
    found = by_name(plan)
    assert found["Close"]["blockers"] == [found["Open"]["task_id"]]
    assert found["Close"]["subtask_of"] == found["Writer"]["task_id"]
    assert (found["Again"]["status"], found["Again"]["tags"]) == ("cancelled", ["loop"])
    assert found["Parser"]["priority"] == 4

    again = json.loads(taken_out(plan, "task-master")[""])

    for tag, part in TASK_MASTER.items():
        for one, other in zip(part["tasks"], again[tag]["tasks"], strict=True):
            assert other == one


def test_backlog_goes_out_as_it_came(plan: Tasks) -> None:
    bring(plan, "backlog")
    found = by_name(plan)
    assert found["CLI: Add it"]["blockers"] == [found["Before"]["task_id"]]
    assert found["Before"]["subtask_of"] == found["CLI: Add it"]["task_id"]

    files = taken_out(plan, "backlog")

    assert files.keys() == BACKLOG.keys()
    (record,) = named("backlog").read({"x/y.md": files["tasks/back-200 - Add-it.md"]})
    (before,) = named("backlog").read({"x/y.md": BACKLOG["tasks/back-200 - Add-it.md"]})
    assert record == before
    edit(plan, "complete", found["CLI: Add it"]["task_id"])
    assert "status: Done" in taken_out(plan, "backlog")["tasks/back-200 - Add-it.md"]


def test_github_issues_come_and_go(plan: Tasks) -> None:
    bring(plan, "github")
    found = by_name(plan)
    assert found["Old"]["status"] == "cancelled"
    assert found["Crash"]["notes"][0]["by"] == "ben"
    assert found["Crash"]["source"]["id"] == "o/r#12"

    again = json.loads(taken_out(plan, "github")[""])

    for one, other in zip(GITHUB, again, strict=True):
        same = {name: value for name, value in one.items() if not name.endswith("At")}
        assert {
            name: other.get(name) for name in same if name != "comments"
        }.items() <= same.items()
    rest = [{"number": 1, "title": "By REST", "state": "closed", "state_reason": "completed",
             "html_url": "https://github.com/o/r/issues/1", "created_at": T1, "comments": 3,
             "user": {"login": "x"}, "labels": []},
            {"number": 2, "title": "A change", "state": "open", "pull_request": {}}]  # fmt: skip
    assert bring(plan, "github", {"rest.json": json.dumps(rest)}).created == 1
    assert by_name(plan)["By REST"]["status"] == "completed"


ISSUES = [
    {"number": n, "title": f"T{n}", "state": "open", "comments": 1, "labels": [],
     "html_url": f"https://github.com/o/r/issues/{n}"} for n in (1, 2)
]  # fmt: skip
ISSUES[1]["parent_issue_url"] = "https://api.github.com/repos/o/r/issues/1"
ISSUES[1]["blockedBy"] = {"nodes": [{"number": 1, "url": "https://github.com/o/r/issues/1"}]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pages.json", "".join(json.dumps([one]) for one in ISSUES)),
        ("pages.json", json.dumps([[one] for one in ISSUES])),
        ("issues.jsonl", "\n".join(map(json.dumps, ISSUES))),
        ("found.json", json.dumps({"total_count": 2, "items": ISSUES})),
        ("query.json", json.dumps({"data": {"repository": {"issues": {"nodes": ISSUES}}}})),
    ],
    ids=["pages one by one", "pages in a list", "lines", "search", "GraphQL"],
)
def test_issues_come_in_however_they_were_asked_for(plan: Tasks, name: str, content: str) -> None:
    assert found_in(name, content).name == "github"

    bring(plan, "github", {name: content})

    found = by_name(plan)
    assert found["T2"]["subtask_of"] == found["T1"]["task_id"]
    assert found["T2"]["blockers"] == [found["T1"]["task_id"]]


def test_the_tasks_of_an_openspec_change_come_and_go(plan: Tasks) -> None:
    bring(plan, "openspec")
    found = by_name(plan)
    assert found["Fill it"]["subtask_of"] == found["Database"]["task_id"]
    assert found["Fill it"]["details"] == "With what is there."
    assert found["Create the table"]["status"] == "completed"

    assert taken_out(plan, "openspec") == {"": OPENSPEC}
    edit(plan, "complete", found["Show it"]["task_id"])
    assert "- [x] 2.1 Show it" in taken_out(plan, "openspec")[""]


def test_a_check_list_comes_and_goes(plan: Tasks) -> None:
    bring(plan, "markdown")
    found = by_name(plan)
    assert found["Peas"]["subtask_of"] in [
        v["task_id"] for v in everything(plan) if v["name"] == "Sow"
    ]
    assert found["Beans"]["status"] == "cancelled"

    written = taken_out(plan, "markdown")[""]

    assert written.count("- [ ] Sow") == 2
    assert "## Spring" in written
    assert (
        bring(
            plan, "markdown", {"garden.md": written.replace("## Spring", "# Garden\n\n## Spring")}
        ).created
        == 0
    )


def test_a_table_comes_and_goes(plan: Tasks) -> None:
    bring(plan, "csv")
    found = by_name(plan)
    sow = found["Sow; soon"]
    assert (sow["priority"], sow["status"]) == (2, "pending")
    assert sow["blockers"] == [found["Dig"]["task_id"]]
    assert found["Dig"]["tags"] == ["garden", "spring"]

    (_, row, *_) = taken_out(plan, "csv")[""].splitlines()

    assert row.startswith("A-1,Dig,")
    assert row.endswith(",7")  # a column that has no field here


JIRA = """\
Summary,Issue key,Status,Priority,Created,Due date,Labels,Labels,Inward issue link (Blocks),Parent,\
Parent key
Login,WEB-9,To Do,Medium,01/Nov/26 9:00 AM,,,,,,
Login fails,WEB-12,In Progress,High,03/Nov/26 9:15 AM,01/Dec/26 12:00 AM,auth,web,WEB-10,10009,WEB-9
Limit,WEB-10,Done,Highest,02/Nov/26 1:00 PM,,,,,,
Audit,WEB-11,Won't Do,Lowest,02/Nov/26 1:00 PM,,,,,,
"""
ASANA = """\
Task ID,Completed At,Name,Due Date,Tags,Notes,Parent task,Blocked By (Dependencies)
1201,,Paint,2026-12-01,home,"Two
coats",,Sand
1202,2026-11-03,Sand,,,,Paint,
"""
TRELLO = """\
Card ID,Card Name,Card Description,Labels,Due Date,List Name
64f1,Write page,Long text,"docs (green),web (blue)",2026-12-01T10:00:00.000Z,Doing
64f2,Ship,,,,Done
"""


def test_a_table_of_jira_comes_in_with_its_labels_links_and_dates(plan: Tasks) -> None:
    bring(plan, "csv", {"jira.csv": JIRA})

    views = by_name(plan)
    fails = views["Login fails"]
    assert (fails["due_date"], fails["tags"]) == ("2026-12-01", ["auth", "web"])
    assert fails["blockers"] == [views["Limit"]["task_id"]]
    assert fails["subtask_of"] == views["Login"]["task_id"]
    assert fails["created_at"].startswith("2026-11-03T09:15")
    assert [views[one]["status"] for one in ("Limit", "Audit")] == ["completed", "cancelled"]


def test_a_table_of_asana_names_tasks_by_their_names(plan: Tasks) -> None:
    report = bring(plan, "csv", {"asana.csv": ASANA})

    views = by_name(plan)
    assert report.warnings == []
    assert views["Paint"]["blockers"] == [views["Sand"]["task_id"]]
    assert views["Sand"]["subtask_of"] == views["Paint"]["task_id"]
    assert [views[one]["status"] for one in ("Paint", "Sand")] == ["pending", "completed"]
    assert views["Paint"]["details"] == "Two\ncoats"


def test_a_table_of_trello_comes_in_with_its_lists_as_states(plan: Tasks) -> None:
    bring(plan, "csv", {"trello.csv": TRELLO})

    views = by_name(plan)
    assert views["Write page"]["details"] == "Long text"
    assert [views[one]["status"] for one in ("Write page", "Ship")] == ["pending", "completed"]


def test_a_table_keeps_its_words_dates_and_labels(plan: Tasks) -> None:
    table = (
        "ID,Title,Status,Priority,Due Date,Created,Labels\n"
        'A,One,In Review,P1,12/31/2026,Mon Jan 05 2026 10:00:00 GMT+0000 (GMT),"""a, b"", c"\n'
        "B,Two,Done,Urgent,01/02/2027,,\n"
        "C,Three,,,31.12.2026,,\n"
    )
    bring(plan, "csv", {"t.csv": table})
    found = by_name(plan)
    assert [found[one]["due_date"] for one in ("One", "Two", "Three")] == [
        "2026-12-31",
        "2027-01-02",
        "2026-12-31",
    ]
    assert found["One"]["created_at"] == "2026-01-05T10:00:00.000000Z"
    assert found["One"]["tags"] == ["a, b", "c"]

    written = taken_out(plan, "csv")[""]

    assert "In Review,P1," in written
    assert bring(plan, "csv", {"t.csv": written}).updated == 0
    assert by_name(plan)["One"]["tags"] == ["a, b", "c"]
    error = refusal(lambda: bring(plan, "csv", {"t.csv": "name,due\nx,1/2/2026\n"}))
    assert "'1/2/2026' is not a date" in error.message


def test_a_table_of_jira_names_parents_by_another_id(plan: Tasks) -> None:
    bring(plan, "csv", {"j.csv": "Issue key,Issue id,Summary,Parent\nP-1,10001,One,\n"
                        "P-2,10002,Two,10001\n"})  # fmt: skip

    found = by_name(plan)
    assert found["Two"]["subtask_of"] == found["One"]["task_id"]


def test_what_has_no_place_here_goes_out_as_it_came(plan: Tasks) -> None:
    name = "A name " + "that is too long " * 40
    issue = {"id": "bd-x", "title": name, "description": "\n\nLate.", "status": "open",
             "priority": 2, "issue_type": "task", "created_at": T1, "updated_at": T2,
             "dependencies": [
                 {"issue_id": "bd-x", "depends_on_id": "bd-a1", "type": "discovered-from"},
                 {"issue_id": "bd-x", "depends_on_id": "bd-c3", "type": "discovered-from"},
             ],
             "comments": [{"id": 9, "issue_id": "bd-x", "author": "ann", "text": "Yes.\n",
                           "created_at": T1}]}  # fmt: skip
    lines = "".join(json.dumps(one) + "\n" for one in [*BEADS, issue])
    bring(plan, "beads", {"issues.jsonl": lines})

    out = [json.loads(line) for line in taken_out(plan, "beads")[""].splitlines()]

    (again,) = [one for one in out if one["id"] == "bd-x"]
    told = ("title", "description", "dependencies", "comments")
    assert {key: again[key] for key in told} == {key: issue[key] for key in told}


def test_the_tags_of_task_master_keep_what_is_said_of_them(plan: Tasks) -> None:
    about = {"created": T1, "updated": T2, "description": "The next release"}
    tasks = [{"id": 1, "title": "One"}, {"id": 2, "title": "Two"}]
    bring(
        plan,
        "task-master",
        {"tasks.json": json.dumps({"next": {"tasks": tasks, "metadata": about}})},
    )

    assert json.loads(taken_out(plan, "task-master")[""])["next"]["metadata"] == about


def test_a_page_beside_the_tasks_of_backlog_is_none_of_them(ann: Person) -> None:
    ann("project", "init")
    for name, text in {**BACKLOG, "drafts/How we plan.md": "# How we plan\n"}.items():
        file = ann.folder / "backlog" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert f"{len(BACKLOG)} imported" in ann("import", "backlog")
    (ann.folder / "backlog" / "tasks" / "task-9 - Cut.md").write_text("# Cut\n")
    assert "task-9 - Cut.md has no front matter" in ann.run("import", "backlog").stderr


def test_what_backlog_archived_is_not_to_be_done_and_goes_out_as_it_came(plan: Tasks) -> None:
    files = {
        f"archive/tasks/task-{n} - Old.md": (
            f"---\nid: TASK-{n}\ntitle: Old {n}\nstatus: {status}\n---\n\nOnce\n"
        )
        for n, status in ((1, "To Do"), (2, "Done"))
    }

    bring(plan, "backlog", files)

    assert [view["status"] for view in everything(plan)] == ["cancelled", "completed"]
    assert taken_out(plan, "backlog") == files


def test_a_number_of_backlog_stays_a_number(plan: Tasks) -> None:
    text = "---\nid: task-1\ntitle: One\nstatus: To Do\nordinal: 1500\n---\n"
    bring(plan, "backlog", {"tasks/task-1 - One.md": text})

    assert "ordinal: 1500\n" in taken_out(plan, "backlog")["tasks/task-1 - One.md"]


def test_a_second_import_brings_what_changed_there_and_leaves_what_changed_here(
    plan: Tasks,
) -> None:
    bring(plan, "beads")
    one = by_name(plan)["Speed up the tests"]["task_id"]
    edit(plan, "update", one, priority=2, name="Faster tests")
    changed = [dict(issue) for issue in BEADS]
    changed[0] |= {"description": "They take 200s.", "title": "Speed up all tests"}
    changed[0]["comments"] = [
        *changed[0]["comments"],
        {"id": 2, "issue_id": "bd-a1", "author": "ann", "text": "Since May.", "created_at": T2},
    ]
    lines = "".join(json.dumps(issue) + "\n" for issue in changed)

    report = bring(plan, "beads", {"issues.jsonl": lines})

    assert (report.created, report.updated) == (0, 1)
    view = get(plan, one)
    assert view["name"] == "Speed up all tests"  # changed there last
    assert view["details"].startswith("They take 200s.")
    assert view["priority"] == 2  # changed here, and not there
    assert [note["text"] for note in view["notes"]] == ["Why?", "Since May."]


@pytest.mark.parametrize("form", [one for one in FORMATS if one != "tasky"])
def test_what_an_export_wrote_comes_back_as_the_same_tasks(plan: Tasks, form: str) -> None:
    garden, dig = create(plan, "Garden", "Dig [deep]", priority=5, details="A spade\n- [ ] is here")
    (sow,) = create(plan, "Sow", blockers=[dig], subtask_of=garden, tags=["spring"])
    edit(plan, "note", sow, note="Early.")
    before = everything(plan)
    files = taken_out(plan, form)

    again = plan.bring_in(
        named(form).read({p or "x/y": text for p, text in files.items()}), form, ME
    )

    assert again.created == 0
    assert len(everything(plan)) == 3
    assert get(plan, sow)["blockers"] == [dig]
    assert get(plan, garden)["priority"] == 5
    assert {view["name"] for view in before} == {view["name"] for view in everything(plan)}


def test_the_text_below_a_heading_of_openspec_is_the_details_of_the_group(plan: Tasks) -> None:
    text = OPENSPEC.replace("## 2. Page\n", "## 2. Page\n\nWith *care*.\n\n- no box\n")
    bring(plan, "openspec", {"add-page/tasks.md": text})
    page = by_name(plan)["Page"]
    assert page["details"] == "With *care*.\n\n- no box"
    assert taken_out(plan, "openspec") == {"": text}

    edit(plan, "update", page["task_id"], details="Without.\n- [ ] no task\n-[x] none either")

    written = taken_out(plan, "openspec")[""]
    assert "## 2. Page\n\n  Without.\n  - \\[ ] no task\n  -\\[x] none either\n\n" in written
    assert "care" not in written
    assert bring(plan, "openspec", {"add-page/tasks.md": written}).created == 0
    assert get(plan, str(page["task_id"]))["details"].startswith("Without.\n- [ ] no task")


def test_a_text_below_a_heading_from_before_groups_had_details_is_not_lost(plan: Tasks) -> None:
    bring(plan, "openspec", {"add-page/tasks.md": OPENSPEC.replace("base\n", "base\n\nWords.\n")})
    old = by_name(plan)["Database"]["task_id"]
    native = json.loads(taken_out(plan, "tasky")[""])
    for task in native["tasks"]:
        if task["task_id"] == old:
            task["details"] = "N/A"
            task["source"]["rest"] = task["source"]["rest"].replace('"has_text": true, ', "")
    plan.edit([{"action": "undo"}], ME)
    bring(plan, "tasky", {"tasks.json": json.dumps(native)})
    assert get(plan, old)["details"] == "N/A"

    assert "## 1. Database\n\nWords.\n" in taken_out(plan, "openspec")[""]


@pytest.mark.parametrize(
    ("form", "name", "other"),
    [("markdown", "TODO.md", "PLAN.md"), ("openspec", "changes/one/tasks.md", "else/o.md")],
)
def test_a_list_has_our_ids_only_in_another_file_than_it_came_from(
    ann: Person, form: str, name: str, other: str
) -> None:
    text = "# Plan\n\nWords.\n\n- [ ] One\n      in\n  - [x] Part\n- [ ] One\n"
    ann("project", "init")
    file = ann.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    count = ann.data("import", name)["imported"]

    ann("export", other, "--format", form)
    assert (ann.folder / other).read_text().count("<!-- tasky:") == count
    again = ann.data("import", other, "--format", form)
    assert (again["imported"], again["updated"], again["already_there"]) == (0, 0, count)
    (ann.folder / "out.md").write_text(ann("export", "--format", form))
    assert ann.data("import", "out.md", "--format", form)["already_there"] == count
    (ann.folder / other).write_text(
        (ann.folder / other).read_text().replace("[x] Part", "[ ] Part")
    )
    assert ann.data("import", other, "--format", form)["updated"] >= 1
    (ann.folder / other).write_text(
        (ann.folder / other).read_text().replace("[ ] Part", "[x] Part")
    )
    ann("import", other, "--format", form)

    ann("export", name, "--format", form)
    assert file.read_text() == text


@pytest.mark.parametrize("form", ["markdown", "openspec"])
def test_what_is_changed_in_a_list_here_comes_back_as_the_same_tasks(
    plan: Tasks, form: str
) -> None:
    text = (
        "# A\n\n- [ ] One\n  - [ ] Part\n    - [ ] Bit\n- [ ] One\n- [ ] One\n\n# B\n\n- [ ] Two\n"
    )
    name = "add/tasks.md"
    bring(plan, form, {name: text})
    found = everything(plan)
    ones = [view["task_id"] for view in found if view["name"] == "One"]
    edit(plan, "update", by_name(plan)["Part"]["task_id"], name="1.2 Piece", details="```\nopen")
    edit(plan, "delete", ones[1])
    edit(plan, "update", by_name(plan)["Bit"]["task_id"], subtask_of=ones[2])
    told = ("name", "details", "status", "subtask_of")
    before = {view["task_id"]: [view[one] for one in told] for view in everything(plan)}

    report = bring(plan, form, {name: taken_out(plan, form)[""]})

    assert report.created == 0
    after = {view["task_id"]: [view[one] for one in told] for view in everything(plan)}
    assert after == before


def test_a_box_ticked_in_an_exported_list_completes_the_task(plan: Tasks) -> None:
    dig, sow = create(plan, "Dig", "Sow")
    text = taken_out(plan, "markdown")[""].replace("- [ ] Dig", "- [x] Dig")

    bring(plan, "markdown", {"plan.md": text})

    assert [get(plan, one)["status"] for one in (dig, sow)] == ["completed", "pending"]


def test_circles_of_other_tools_are_opened_and_told(plan: Tasks) -> None:
    tasks = [{"id": n, "title": f"T{n}", "dependencies": [3 - n]} for n in (1, 2)]

    report = bring(plan, "task-master", {"tasks.json": json.dumps({"tasks": tasks})})

    assert report.created == 2
    assert "would wait for itself" in report.warnings[0]
    assert sum(len(view["blockers"]) for view in everything(plan)) == 1
    (again,) = [json.loads(taken_out(plan, "task-master")[""])["tasks"]]
    assert [one["dependencies"] for one in again] == [[2], [1]]


def test_tasks_that_share_an_id_are_both_kept(plan: Tasks) -> None:
    tasks = [{"id": 1, "title": "One"}, {"id": 1, "title": "Another"}]

    bring(plan, "task-master", {"tasks.json": json.dumps({"tasks": tasks})})

    assert {view["name"] for view in everything(plan)} == {"One", "Another"}


def test_an_undo_takes_an_import_back(plan: Tasks) -> None:
    bring(plan, "beads")

    plan.edit([{"action": "undo"}], ME)

    assert plan.search(Search(), ME).total == 0


@pytest.mark.parametrize(
    ("form", "text", "says"),
    [
        ("beads", '{"id": "bd-1"}', "line 1, has no id or no title"),
        ("beads", "{", "is not JSON"),
        ("task-master", '{"a": 1}', "holds no list of tasks"),
        ("backlog", "no front matter", "has no front matter"),
        ("backlog", "---\nid: [\n---\n", "is not YAML"),
        ("github", '[{"number": 1}]', "has an issue without a title"),
        ("csv", "a,b\n1,2", "has no column for a task's name"),
        ("csv", 'name,details\nA,"cut sho', "ends within a cell in quotes"),
        ("csv", "name,details\nA,b,c", "has more cells than columns in row 1"),
        ("tasky", "7", "holds no tasks"),
        ("beads", '{"id": "a", "title": "b", "comments": 5}', "is not as beads writes it"),
        ("beads", '{"id": "a", "title": "b", "dependencies": ["c"]}', "is not as beads writes"),
        ("task-master", '[{"id": 1, "title": "a", "subtasks": [7]}]', "is not as task-master"),
        ("tasky", '[{"name": "a", "notes": 7}]', "is not as tasky writes it"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_what_is_wrong(form: str, text: str, says: str) -> None:
    error = refusal(lambda: records_of(named(form), {"the file": text}))

    assert isinstance(error, InvalidError)
    assert says in error.message


def test_the_task_of_a_file_that_is_wrong_is_named(plan: Tasks) -> None:
    error = refusal(lambda: bring(plan, "csv", {"t.csv": "name,due\nDig,\nSow,someday\n"}))

    assert "“Sow”: due_date 'someday' is not a date" in error.message
    assert plan.info()["total"] == 0


def test_a_table_of_excel_says_its_delimiter_and_has_cells_of_any_length(plan: Tasks) -> None:
    long = "x" * 200_000
    text = f'sep=|\nname|details|tags|\nDig|"one\ntwo; ""three"""|a, b|\nSow|{long}||\n'

    report = bring(plan, "csv", {"t.csv": text})

    found = by_name(plan)
    assert found["Dig"]["details"] == 'one\ntwo; "three"'
    assert report.warnings == [
        "“Sow” has details of 200,000 characters; those past 50,000 are kept with the source."
    ]
    assert bring(plan, "csv", taken_out(plan, "csv")).unchanged == 2
    bring(plan, "csv", {"t.csv": 'name,details\nIt is 5" long,a "b" c\n'})
    assert by_name(plan)['It is 5" long']["details"] == 'a "b" c'


def test_an_issue_that_nobody_changed_keeps_its_body_and_one_that_is_done_says_so(
    plan: Tasks,
) -> None:
    issues = [
        {"number": n, "title": f"T{n}", "body": body, "state": "OPEN", "stateReason": "",
         "closed": False, "closedAt": None, "url": f"https://github.com/o/r/issues/{n}"}
        for n, body in enumerate(("Steps:\r\n- [ ] one\r\n", None, ""), 1)
    ]  # fmt: skip
    bring(plan, "github", {"issues.json": json.dumps(issues)})
    assert json.loads(taken_out(plan, "github")[""]) == issues

    edit(plan, "complete", by_name(plan)["T1"]["task_id"])
    edit(plan, "update", by_name(plan)["T2"]["task_id"], details="More")

    first, second, _ = json.loads(taken_out(plan, "github")[""])
    assert (first["state"], first["stateReason"], first["closed"]) == ("CLOSED", "COMPLETED", True)
    assert first["closedAt"] == by_name(plan)["T1"]["updated_at"]
    assert second["body"] == "More"


@pytest.mark.parametrize("form", ["markdown", "openspec"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\nsay ``` here\n- [ ] no\n```\n- [ ] yes\n", ["yes"]),
        ("````\n```\n- [ ] no\n```\n````\n- [ ] yes\n", ["yes"]),
        ("~~~~ md\n- [ ] no\n~~~~~\n- [ ] yes\n", ["yes"]),
        ("``` not `a fence`\n- [ ] yes\n", ["yes"]),
        ("- [ ] yes\n  ```\n  - [ ] no\n  ```\n\n\n", ["yes"]),
    ],
)
def test_what_stands_in_a_fence_is_no_item(
    plan: Tasks, form: str, text: str, found: list[str]
) -> None:
    files = {"change/tasks.md": text}
    bring(plan, form, files)

    assert [view["name"] for view in everything(plan)] == found
    assert taken_out(plan, form) == {"": text}
    assert bring(plan, form, files).unchanged == 1


@pytest.mark.parametrize("kind", ["json", "sqlite", "postgresql"])
@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.torture)])
def test_a_large_table_comes_goes_and_is_taken_back_whole(
    plans: Plans, kind: str, count: int
) -> None:
    plan = plans.open(kind)
    rows = ["id,name,details,status,priority,tags,blockers,parent,due"]
    for n in range(count):
        state = ("open", "done", "cancelled")[n % 3]
        after = f"T-{n - 1}" if n % 7 == 1 else ""
        parent = f"T-{n // 10 * 10}" if n % 10 else ""
        details = f'"Line {n}\nand ""more"" {"words " * (n % 90)}"'
        due = "2026-12-01" if n % 4 == 0 else ""
        rows.append(
            f'T-{n},Task {n},{details},{state},{n % 5 + 1},"a, t{n % 30}",{after},{parent},{due}'
        )
    files = {"table.csv": "\n".join(rows) + "\n"}

    report = bring(plan, "csv", files)
    assert (report.created, report.warnings) == (count, [])
    found = plan.search(Search(status="cancelled", tags=("t2",), search="line"), ME)
    assert found.total == len([n for n in range(count) if n % 3 == 2 and n % 30 == 2])
    assert bring(plan, "csv", files).unchanged == count

    written = taken_out(plan, "csv")
    assert bring(plan, "csv", written).unchanged == count
    changed = {"table.csv": files["table.csv"].replace(f"Task {count - 1},", "Another,")}
    assert bring(plan, "csv", changed).updated == 1
    other = plans.open(kind, "other")
    assert bring(other, "tasky", taken_out(plan, "tasky")).created == count
    assert taken_out(other, "csv") == taken_out(plan, "csv")

    plan.edit([{"action": "undo"}], ME)
    plan.edit([{"action": "undo"}], ME)
    assert plan.info()["total"] == 0
    assert plan.check() == []


def test_people_name_a_file_or_a_folder(ann: Person, tmp_path: Path) -> None:
    ann("project", "init")
    beads = tmp_path / "other" / ".beads"
    beads.mkdir(parents=True)
    (beads / "issues.jsonl").write_text(FILES["beads"]["issues.jsonl"])
    assert ann.data("import", str(beads.parent))["imported"] == 4
    tree = tmp_path / "spec" / "openspec" / "changes" / "add-page"
    tree.mkdir(parents=True)
    (tree / "tasks.md").write_text(OPENSPEC)
    assert ann.data("import", str(tmp_path / "spec"))["format"] == "openspec"
    assert ann.data("import", str(tree / "tasks.md"))["already_there"] == 5
    assert "several files" in ann.run("export", "--format", "backlog").stderr
    ann("export", "out", "--format", "backlog")
    assert len(list((ann.folder / "out" / "tasks").iterdir())) == 9
    assert ann.data("import", "out")["imported"] == 0
    (tmp_path / "windows.md").write_bytes("\ufeff- [ ] First\r\n- [ ] Second\r\n".encode())
    assert ann.data("import", str(tmp_path / "windows.md"))["imported"] == 2
    (tmp_path / "wide.csv").write_text("name\nÜber\n", "utf-16")
    assert ann.data("import", str(tmp_path / "wide.csv"))["imported"] == 1
    refused = ann.run("import", str(tree / "tasks.md"), "--format", "nope")
    assert "Formats: tasky, beads" in refused.stderr
    assert "cannot be read" in ann.run("import", "missing.json").stderr
    (tmp_path / "old.csv").write_bytes("name\nÜber\n".encode("cp1252"))
    assert (
        "In Excel: CSV UTF-8".lower() in ann.run("import", str(tmp_path / "old.csv")).stderr.lower()
    )
    no_list = ann.run("import", str(tmp_path / "wide.csv"), "--format", "markdown")
    assert (no_list.returncode, "- [ ] Buy seeds" in no_list.stderr) == (1, True)


@pytest.mark.parametrize(
    ("kind", "to"),
    [("sqlite", "json"), ("json", "sqlite"), ("json", "postgresql"), ("postgresql", "json")],
)
def test_a_move_that_is_cut_off_has_kept_all_and_is_finished_by_the_next(
    plans: Plans, kind: str, to: str
) -> None:
    plan, target = plans.open(kind, "one"), plans.location(to, "two")
    (dig,) = create(plan, "Dig", details="deep", tags=["garden"])
    create(plan, "Sow", blockers=[dig])
    seen: list[Any] = []

    def cut() -> None:
        seen.append(everything(plans.open(to, "two")))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan.copy_to(open_store(target), cut)
    assert seen == [everything(plan)]
    plan.copy_to(open_store(target), lambda: seen.append("moved"))
    assert seen[1:] == ["moved"]
    create(plan, "Reap")
    with pytest.raises(ConflictError, match="not empty"):
        plan.copy_to(open_store(target), lambda: seen.append("moved over another"))
    assert seen[1:] == ["moved"]


RICH: list[dict[str, Any]] = [
    {"name": "Dig", "details": "Some *text*\n\n- [ ] a part", "tags": ["a", "b c"], "priority": 4},
    {"name": "Due on a day", "due_date": "2026-12-24", "details": "## Description\n\nof a day"},
    {"name": "Due at a time", "due_date": "2026-12-24T12:30:00Z", "details": "## Notes\n\nplain"},
    {"name": "Many: odd # names", "priority": 1, "details": "one\n\n## Design\n\ntwo\n\n## Notes"},
    {"name": "Without anything", "priority": 5},
]


@pytest.mark.parametrize("form", [one for one in FORMATS if one != "tasky"])
def test_an_export_that_nobody_changed_changes_nothing_when_it_comes_in(
    plan: Tasks, form: str
) -> None:
    ids = [str(view["task_id"]) for view in plan.create(RICH, ME)]
    edit(plan, "update", ids[1], add_blockers=[ids[0]], subtask_of=ids[4])
    edit(plan, "note", ids[0], note="done: half\n\nthe rest")
    edit(plan, "note", ids[1], note="second")
    edit(plan, "complete", ids[0])
    edit(plan, "cancel", ids[3])
    before = {str(view["task_id"]): view for view in everything(plan)}

    for _ in range(2):
        files = taken_out(plan, form)
        report = bring(plan, form, files)
        after = {str(view["task_id"]): view for view in everything(plan)}
        changed = {
            (was["name"], name): (was.get(name), after[task_id].get(name))
            for task_id, was in before.items()
            for name in {*was, *after[task_id]}
            if was.get(name) != after[task_id].get(name)
        }
        assert changed == {}
        assert (report.created, report.updated, report.unchanged) == (0, 0, len(RICH))


LOST = {
    "tasky": set(),
    "beads": set(),
    "csv": set(),
    "backlog": set(),
    "github": set(),
    "task-master": set(),
    "markdown": {"priority", "due_date", "tags", "blockers", "discovered_from", "done_when"},
    "openspec": {
        *("priority", "due_date", "tags", "blockers", "discovered_from", "done_when"),
        "status",  # a group's state is that of its items
    },
}
"""What a plan does not get of another one by way of a format."""
TOLD = {
    *("name", "details", "status", "priority", "due_date", "tags", "blockers", "subtask_of"),
    *("discovered_from", "done_when"),
}
BITS = st.sampled_from(
    [
        *(
            "a",
            "Ünï 🎉",
            " ",
            "\t",
            "\n",
            "\r\n",
            "\n\n",
            "- [ ] x",
            "* [x] y",
            "-[ ] z",
            "- \\[ ] w",
        ),
        *("```", "~~~", "<!--", "-->", "---", "## Description", "## Notes", "# H", "  in", "1.2 "),
        *("\u2028", "\x85", '"', ",", ";", "'", "@ann", "[", "]", "\\", "\\```", "&", "id: 5"),
    ]
)
TEXTS = st.lists(BITS, max_size=8).map("".join)
NAMES = st.lists(BITS, min_size=1, max_size=4).map(lambda bits: " ".join("".join(bits).split()))
TASKS = st.lists(
    st.fixed_dictionaries(
        {
            "name": NAMES.filter(bool),
            "details": TEXTS,
            "priority": st.integers(1, 5),
            "due_date": st.sampled_from(["", "2026-12-24", "2026-12-24T12:30:15Z"]),
            "tags": st.sampled_from([[], ["a"], ["b,c", "x y"]]),
            "done_when": st.sampled_from([[], ["tests"], ["a-b", "c"]]),
        }
    ),
    min_size=4,
    max_size=4,
)
HARD = [
    {"name": "Group", "details": "ends\r\nas on Windows\r\n\r\n  in", "priority": 5},
    {"name": "1.2 Part [x]", "details": "```\n<!-- open\n- [ ] no task", "due_date": "2026-12-24"},
    {"name": "Bit, @ann", "details": "  \u2028\n## Description\n\n## Notes", "done_when": ["a-b"]},
    {"name": "After", "due_date": "2026-12-24T12:30:15Z", "priority": 1, "tags": ["b,c"]},
]
NUMBERS = count()


@pytest.mark.parametrize("form", FORMATS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(HARD)
@given(TASKS)
def test_a_plan_goes_to_another_one_and_back(
    plans: Plans, form: str, tasks: list[dict[str, Any]]
) -> None:
    here, there = (plans.open("json", f"{side}{next(NUMBERS)}") for side in "ab")
    given = [{key: value for key, value in one.items() if value} for one in tasks]
    given = [{"ref": f"r{n}", **one} for n, one in enumerate(given)]
    given[1] |= {"subtask_of": "r0"}
    given[2] |= {"subtask_of": "r1", "discovered_from": "r0"}
    given[3] |= {"blockers": ["r1", "r2"]}
    ids = [str(view["task_id"]) for view in here.create(given, ME)]
    for task_id, action, one in zip(ids, ("complete", "cancel"), given, strict=False):
        if "done_when" not in one:
            edit(here, action, task_id)
    before = contents(here)

    first = exported(here, form, "out/o.x")
    there.bring_in(named(form).read(first), form, ME)

    for task_id, said in contents(there).items():
        was = before.pop(task_id)
        assert {name: said[name] for name in TOLD - LOST[form]} == {
            name: was[name] for name in TOLD - LOST[form]
        }
    assert before == {}
    was = everything(here)
    for files in (first, exported(there, form, "out/o.x"), exported(there, form, "else/two.x")):
        report = here.bring_in(named(form).read(files), form, ME)
        assert (report.created, report.updated, everything(here)) == (0, 0, was)
    if form in ("backlog", "markdown", "openspec"):
        assert exported(there, form, "out/o.x") == first


def exported(plan: Tasks, form: str, path: str) -> dict[str, str]:
    files = plan.taken_out(bound_for(named(form), f"/{path}"))
    return {name or path: text for name, text in files.items()}


def contents(plan: Tasks) -> dict[str, dict[str, Any]]:
    """Return what each task says; blanks around details are not part of them."""
    return {
        str(view["task_id"]): {name: view.get(name) for name in TOLD}
        | {"details": str(view["details"]).strip(), "blockers": sorted(view["blockers"])}
        for view in everything(plan)
    }


def test_a_task_of_ours_keeps_its_id_when_it_is_changed_in_another_plan(plans: Plans) -> None:
    for form in FORMATS:
        here, there = plans.open("json", f"a-{form}"), plans.open("json", f"b-{form}")
        (group,) = create(here, "Group", details="Some text")
        (part,) = create(here, "Part", subtask_of=group, details="More", priority=5)
        there.bring_in(named(form).read(exported(here, form, "out/o.x")), form, ME)
        edit(there, "update", group, name="Groups", details="Other text")
        edit(there, "update", part, name="Parts", details="Other", priority=4)

        report = here.bring_in(named(form).read(exported(there, form, "out/o.x")), form, ME)

        assert (form, report.created) == (form, 0)
        assert {view["task_id"] for view in everything(here)} == {group, part}
        if form != "tasky":  # the younger one counts there, and both are of one moment
            assert get(here, part)["name"] == "Parts"


def test_files_of_windows_go_out_as_they_came_by_the_command_too(ann: Person) -> None:
    ann("project", "init")
    (ann.folder / "TODO.md").write_bytes(b"- [ ] One\r\n- [ ] Two\r\n")
    for name, text in BACKLOG.items():
        file = ann.folder / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.replace("\n", "\r\n").encode())
    ann("import", "TODO.md")
    ann("import", "in")

    ann("export", "out", "--format", "backlog")

    for name in BACKLOG:
        assert (ann.folder / "out" / name).read_bytes() == (ann.folder / "in" / name).read_bytes()
