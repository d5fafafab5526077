"""Damaged files and full disks: told by what is wrong with a way out, and nothing is lost."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from disks import fill, small_disk
from mcp_host_tasky.settings.environment import tables_of
from mcp_host_tasky.storage.sqlite import file
from mcp_host_tasky.storage.store import WRITES_TOGETHER
from tasky_lab import ME, Person, Plans, create, names


@pytest.fixture
def full_disk(ann: Person) -> Iterator[Path]:
    """A disk of three megabytes, on which `ann`'s project lies."""
    with small_disk(ann.folder, 3) as place:
        yield place


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_a_plan_on_a_disk_without_a_byte_left_is_read_and_says_why_it_is_not_written(
    kind: str, full_disk: Path, ann: Person, tmp_path: Path
) -> None:
    ann("project", "init", "--store", kind)
    task = ann.data("add", "Dig")["task_id"]
    ann("export", "kept.json")
    kept = (ann.folder / "kept.json").read_bytes()
    fill(full_disk)

    assert ann.data("list")["total"] == 1
    ann("backup", str(tmp_path / "copy.db"))
    for words in (["add", "Sow"], ["done", task], ["claim", task], ["delete", task], ["backup"]):
        refused = ann.run(*words)
        assert refused.returncode == 1, words
        assert "full" in refused.stderr or "No space left" in refused.stderr
    assert "kept.json cannot be written" in ann.run("export", "kept.json").stderr
    refused = ann.run("project", "init", "more", "--store", kind)
    assert f"{ann.folder / 'more' / '.tasky' / 'config.toml'} cannot be used" in refused.stderr
    assert not (ann.folder / "more").exists()
    assert (ann.folder / "kept.json").read_bytes() == kept
    assert not [file for file in full_disk.rglob("*") if file.suffix in (".tmp", ".next")]

    (full_disk / "filler").unlink()
    ann("add", "Sow")
    assert (ann.data("list")["total"], ann("check").strip()) == (2, "no damage found")


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("tasks.json", DEEP, "git restore"),
        ("tasks/claims.json", DEEP, "nobody holds a task"),
        ("tasks/claims.json", "", "nobody holds a task"),
        ("tasks/local.json", "", "history and revisions begin anew"),
        ("tasks/journal.json", "{", "some tasks may be missing"),
        ("tasks/ID.json", DEEP, "git restore"),
        ("config.toml", f"x = {DEEP}", ""),
    ],
)
def test_a_damaged_file_is_named_with_a_way_out(
    ann: Person, name: str, content: str, way: str
) -> None:
    ann("project", "init", "--store", "json")
    task = ann.data("add", "Dig")["task_id"]
    file = ann.folder / ".tasky" / name.replace("ID", task)
    file.write_text(content)

    for words in (["list"], ["add", "Sow"]):
        refused = ann.run(*words)
        assert refused.returncode == 1
        assert str(file) in refused.stderr
        assert way in refused.stderr
    assert ann.run("check").returncode == 1
    assert file.read_text() == content
    if "rm " in refused.stderr:
        file.unlink()
        assert ann.data("list")["total"] == 1
        ann("add", "Sow")


def test_resolve_says_which_file_it_cannot_part(ann: Person) -> None:
    ann("project", "init", "--store", "json")
    task = ann.data("add", "Dig")["task_id"]
    head = ann.folder / ".tasky" / "tasks.json"
    (head.parent / "tasks" / f"{task}.json").write_bytes(b"\xff")
    assert "it is not UTF-8" in ann.run("resolve").stderr

    known = head.read_text()
    head.write_text(f"<<<<<<< ours\n{known}=======\n{known}>>>>>>> theirs\n")
    (head.parent / "tasks" / f"{task}.json").unlink()
    ann("resolve")
    assert json.loads(head.read_text()) == json.loads(known)
    old = json.dumps({"version": "2.0", "tasks": {}})
    head.write_text(f"<<<<<<< ours\n{known}=======\n{old}\n>>>>>>> theirs\n")
    assert "different formats (2.0, 3.0)" in ann.run("resolve").stderr


def test_who_has_no_home_to_write_to_is_told_what_it_is_for(ann: Person, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    refused = ann.run("project", "init", HOME=str(tmp_path / "file"))

    assert refused.returncode == 1
    assert "which projects you have" in refused.stderr
    assert "Set HOME" in refused.stderr
    assert not (ann.folder / ".tasky" / "tasks.db").exists()


def test_settings_with_both_sides_of_a_merge_are_told_as_such(ann: Person) -> None:
    ann("project", "init")
    settings = ann.folder / ".tasky" / "config.toml"
    known = settings.read_text()
    settings.write_text(f"<<<<<<< ours\n{known}=======\n{known}>>>>>>> theirs\n")

    assert "config.toml holds both sides of a merge" in ann.run("list").stderr


def test_a_sqlite_plan_whose_index_of_words_is_cut_is_damaged_and_can_be_copied(
    ann: Person, tmp_path: Path
) -> None:
    ann("project", "init")
    ann("add", "Dig")
    store = ann.folder / ".tasky" / "tasks.db"
    store.write_bytes(store.read_bytes()[:-1])

    for words in (["check"], ["add", "Sow"]):
        refused = ann.run(*words)
        assert refused.returncode == 1
        assert "is not an intact SQLite plan" in refused.stderr + refused.stdout
    assert "tasky backup FILE" in refused.stderr
    ann("backup", str(tmp_path / "copy.db"))
    store.write_bytes((tmp_path / "copy.db").read_bytes())
    ann("add", "Sow")
    assert ann("check").strip() == "no damage found"


@pytest.mark.parametrize("cut", [1, 100, 1_000])
def test_a_sqlite_plan_that_is_cut_short_is_neither_shown_nor_written(
    ann: Person, tmp_path: Path, cut: int
) -> None:
    ann("project", "init")
    ann("import", str(_table(tmp_path, 30)))
    store = ann.folder / ".tasky" / "tasks.db"
    left = store.read_bytes()[:-cut]
    store.write_bytes(left)

    for words in (["list"], ["add", "Sow"], ["check"], ["migrate", "json"]):
        refused = ann.run(*words)
        assert refused.returncode == 1
        assert "is not an intact SQLite plan" in refused.stderr
    assert store.read_bytes() == left
    ann("backup", str(tmp_path / "copy.db"))
    store.write_bytes((tmp_path / "copy.db").read_bytes())
    assert ann.data("list")["total"] == 30


def _table(folder: Path, count: int) -> Path:
    file = folder / "tasks.csv"
    file.write_text("name,details\n" + "".join(f"task {n},{'d' * 500}\n" for n in range(count)))
    return file


DAMAGE = {
    "details": "MARKED \udcff",
    "name": "\udcff",
    "tags": '["home"x',
    "notes": "[[1]]",
    "done_when": "{",
    "source": DEEP,
    "due_date": "tomorrow",
    "due_at": "[{",
    "created_at": "yesterday",
    "updated_at": "",
    "revision": "one",
    "sort_key": "[{",
}


@pytest.mark.parametrize("column", DAMAGE)
def test_a_damaged_row_is_told_of_and_copied_as_far_as_it_can_be_read(
    ann: Person, tmp_path: Path, column: str
) -> None:
    ann("project", "init")
    damaged = ann.data("add", "Dig", "--tag", "home", "--due", "2026-12-01")["task_id"]
    ann("add", "Sow")
    store = ann.folder / ".tasky" / "tasks.db"
    with closing(sqlite3.connect(store)) as connection:
        value = DAMAGE[column].encode("utf-8", "surrogateescape")
        connection.execute(
            f"UPDATE tasks SET {column} = CAST(? AS TEXT) WHERE task_id = ?",
            (value, damaged),
        )
        connection.commit()

    found = ann.run("check")
    assert (found.returncode, found.stderr) == (1, "")
    assert damaged in found.stdout
    assert "backup" in found.stdout
    shown = ann.run("show", damaged)
    assert "Traceback" not in shown.stderr
    assert shown.returncode == 0 or "tasky backup" in shown.stderr
    copied = ann.run("backup", str(tmp_path / "copy.db"))
    assert (copied.returncode, "2 tasks copied" in copied.stdout) == (0, True)
    store.write_bytes((tmp_path / "copy.db").read_bytes())
    assert ann("check").strip() == "no damage found"
    assert {row["name"] for row in ann.data("list")["tasks"]} >= {"Sow"}
    if column == "details":
        assert "MARKED" in ann("show", damaged)


def test_a_damaged_event_is_told_of_and_copied_without_what_cannot_be_read(
    ann: Person, tmp_path: Path
) -> None:
    ann("project", "init")
    ann("add", "Dig")
    store = ann.folder / ".tasky" / "tasks.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE events SET changes = '{'")
        connection.commit()

    assert "The event 1 has what cannot be read: changes" in ann.run("check").stdout
    assert "event 1 is damaged" in ann.run("log").stderr
    assert "as far as it can be read" in ann.run("backup", str(tmp_path / "copy.db")).stderr
    store.write_bytes((tmp_path / "copy.db").read_bytes())
    assert ann("check").strip() == "no damage found"


def test_a_backup_for_which_a_disk_has_no_room_leaves_no_file(ann: Person, tmp_path: Path) -> None:
    ann("project", "init")
    (tmp_path / "long.csv").write_text("name,details\nDig," + "many words " * 90_000 + "\n" * 2)
    ann("import", str(tmp_path / "long.csv"))
    folder = tmp_path / "copies"
    folder.mkdir()

    with small_disk(folder, 1):
        refused = ann.run("backup", str(folder / "copy.db"))
        left = list(folder.iterdir())

    assert refused.returncode == 1
    assert left == []


def test_a_write_that_is_kept_is_confirmed_where_its_log_cannot_be_copied(
    plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LONGEST_LOG", 200)
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, 6):
        plan = Plans(folder, plans.url, plans.clock, plans.ids).open("sqlite")
        plan.create([{"name": "long", "details": "many words " * 4_000} for _ in range(40)], ME)
        for number in range(WRITES_TOGETHER - 2):
            create(plan, f"task {number}")
        fill(folder)
        with (folder / "filler").open("r+b") as filler:
            filler.truncate(max(0, (folder / "filler").stat().st_size - 400_000))

        create(plan, "kept")

        assert plan.info()["total"] == 40 + WRITES_TOGETHER - 1
        assert names(plan, search="kept") == ["kept"]
        plan.close()


def test_a_plan_whose_name_is_a_pattern_leaves_nothing_beside_it(plans: Plans) -> None:
    create(plans.open("sqlite", "[1]"), "Dig")

    assert not [path.name for path in plans.folder.iterdir() if ".tmp" in path.name]


def test_the_server_takes_a_home_for_a_project_only_where_it_has_a_plan(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"HOME": str(ann.home)}
    monkeypatch.chdir(ann.home)
    assert "settings" not in tables_of(environment)["packs"]["tasky"]

    Person(ann.home, ann.home)("project", "init")

    assert tables_of(environment)["packs"]["tasky"]["settings"] == {"root": str(ann.home)}
    monkeypatch.chdir(ann.folder)
    assert "settings" not in tables_of(environment)["packs"]["tasky"]
