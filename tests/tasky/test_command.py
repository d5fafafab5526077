"""The `tasky` command, projects and their settings, and what the existing Tasky left behind."""

import json
import re
import sqlite3
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from mcp_host_tasky import __version__
from mcp_host_tasky.errors import InvalidError, UnavailableError
from mcp_host_tasky.service import Plan, Tasks
from mcp_host_tasky.storage import Home, Location, open_store
from tasky_lab import Person, create, edit, get, names, refusal

OLD = {
    f"0000000{n}-0000-4000-8000-000000000000": {
        "name": name,
        "details": "N/A",
        "status": status,
        "created_at": f"2025-03-0{n}T10:00:00.5+00:00",
        "updated_at": f"2025-03-0{n}T11:00:00",
    }
    for n, (name, status) in enumerate([("Old one", "pending"), ("Old two", "completed")], 1)
}


def write_old_json(folder: Path) -> Path:
    tasks = {task_id: {"task_id": task_id, **task} for task_id, task in OLD.items()}
    times = {"created_at": "2025-03-01T00:00:00+00:00", "updated_at": "2025-03-02T00:00:00+00:00"}
    (folder / ".tasky").mkdir(exist_ok=True)
    path = folder / ".tasky" / "tasks.json"
    path.write_text(json.dumps({"version": "1.0", "tasks": tasks, **times}))
    return path


def write_old_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE tasks (task_id TEXT PRIMARY KEY, name TEXT NOT NULL, details TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled')),
            created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
        CREATE INDEX idx_tasks_status ON tasks(status);
        CREATE INDEX idx_tasks_created_at ON tasks(created_at);
        CREATE INDEX idx_tasks_status_created ON tasks(status, created_at);
        PRAGMA user_version = 1;
        """
    )
    for task_id, task in OLD.items():
        connection.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)", (task_id, *task.values()))
    connection.commit()
    connection.close()


def test_a_day_with_the_command(ann: Person) -> None:
    assert "tasks.db" in ann("project", "init", "--description", "Spring")
    seeds = ann.data("add", "Buy seeds", "--due", "in 3 days", "--tag", "shop", "--priority", "4")
    ann("add", "Sow", "--blocker", seeds["task_id"][:8])

    assert "Buy seeds" in ann("list", "--ready")
    assert "Sow" not in ann("list", "--ready")
    ann("done", seeds["task_id"][:8])
    assert "Sow" in ann("list", "--ready")
    assert "Buy seeds" not in ann("list")
    assert "complete" in ann("log")
    assert ann.data("log")[0]["caller"] == "ann"
    ann("undo")
    assert ann.data("show", seeds["task_id"][:8])[0]["status"] == "pending"
    assert ann.data("list", "seeds")["total"] == 1
    info = ann.data("project", "info")
    assert (info["description"], info["task_counts"]["pending"]) == ("Spring", 2)
    assert [one["path"] for one in ann.data("project", "list")] == [str(ann.folder)]


def test_people_can_do_all_that_agents_can(ann: Person) -> None:
    ann("project", "init")
    dig, sow = (ann.data("add", name)["task_id"] for name in ("Dig the beds", "Sow"))
    ann("edit", sow, "--blocker", dig, "--priority", "5", "--due", "the 15th")
    ann("tag", dig, "garden", "spring")
    ann("tag", dig, "--", "-spring", "heavy")
    ann("note", dig, "The spade is in the shed")

    seen = ann.data("show", dig, sow)
    assert seen[0]["tags"] == ["garden", "heavy"]
    assert seen[0]["notes"][0]["by"] == "ann"
    assert (seen[1]["priority"], seen[1]["blockers"]) == (5, [dig])
    assert "The spade is in the shed" in ann("show", dig)
    assert [row["name"] for row in ann.data("ready")["tasks"]] == ["Dig the beds"]
    assert "Sow" in ann("search", "sow")
    assert ann.data("next", "--tag", "garden")["claimed_by"] == "ann"
    assert "ann" in ann("list")

    ben = replace(ann, name="ben")
    refused = ben.run("done", dig)
    assert "is claimed by 'ann'" in refused.stderr
    assert "tasky release --force" in refused.stderr
    assert "action next" not in refused.stderr
    assert not re.search(r"\dT\d.*Z", refused.stderr)  # clocks show another time than UTC
    warned = ben("edit", dig, "--priority", "4")  # not refused
    assert "'ann' holds this task until" in warned
    assert not re.search(r"\dT\d.*Z", warned)
    ben("release", dig, "--force", "--note", "ann has left")
    ben("claim", dig)
    ben("done", dig)
    for action, status in (("reopen", "pending"), ("cancel", "cancelled")):
        ben(action, dig)
        assert ben.data("show", dig)[0]["status"] == status
    assert "removed" in ben("delete", dig)
    assert ben("--version").strip() == __version__
    assert ben.run("nope").returncode == 2


def test_the_shell_completes_ids_with_names(ann: Person) -> None:
    ann("project", "init")
    task = ann.data("add", "Dig the beds")["task_id"]
    asked = {"_TASKY_COMPLETE": "complete_bash", "COMP_WORDS": f"tasky show {task[:2]}"}

    done = ann.apart("show", more_environment={**asked, "COMP_CWORD": "2"})

    assert task[:8] in done.stdout


def test_a_refusal_is_one_line_with_what_helps(ann: Person) -> None:
    done = ann.run("list")

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"error: There is no Tasky project in {ann.folder}.",
        "Run in the project's folder: tasky project init",
    ]
    assert done.stdout == ""
    words = {"create": "add", "init": "project init", "serch": "search"}
    for theirs, ours in words.items():
        assert f"No such command '{theirs}'. Did you mean '{ours}'?" in ann.run(theirs).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_place_that_cannot_be_written_to_is_named_in_one_line(ann: Person) -> None:
    (ann.folder / ".tasky").write_text("in the way")
    refused = ann.apart("project", "init")
    (ann.folder / ".tasky").unlink()
    ann("project", "init")
    with Path("/dev/full").open("w") as full:
        cut = ann.apart("list", stdout=full, stderr=subprocess.PIPE, capture_output=False)

    for done, reason in ((refused, str(ann.folder / ".tasky")), (cut, "No space left")):
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith("error: ")
        assert reason in done.stderr


def test_what_agents_write_does_not_steer_a_terminal(ann: Person) -> None:
    ann("project", "init")
    name = "red\x1b[31m\x9b2J\x07"
    shown = [ann("add", name, "--details", name)]
    (task,) = ann.data("list")["tasks"]
    shown += [ann(*words) for words in (["list"], ["show", task["task_id"]], ["log"])]
    shown += [ann("done", task["task_id"]), ann.run("list", "--status", name).stderr]

    assert task["name"] == name
    for text in shown:
        assert "red" in text
        assert not set(text) & {"\x1b", "\x9b", "\x07"}


def test_a_plan_goes_from_store_to_store_with_its_history(ann: Person, database: str) -> None:
    ann("project", "init")
    first = ann.data("add", "First", "--details", "kept")
    ann("add", "Second", "--blocker", first["task_id"])
    before = ann.data("log"), ann.data("show", first["task_id"])

    for store, kind in (("json", "json"), (database, "postgresql"), ("sqlite", None)):
        if kind is None:
            # The old SQLite file still stands there: what is older is not written over.
            ann("edit", first["task_id"], "--details", "kept longer")
            before = ann.data("log"), ann.data("show", first["task_id"])
            refused = ann.run("migrate", store)
            assert refused.returncode == 1
            assert "not empty" in refused.stderr
            (ann.folder / ".tasky" / "tasks.db").unlink()
        ann("migrate", store)
        assert (ann.data("log"), ann.data("show", first["task_id"])) == before
        assert ann.data("project", "info")["store"] == (kind or "sqlite")
    ann("undo")
    assert ann.data("show", first["task_id"])[0]["details"] == "kept"


def test_a_url_is_kept_for_the_user_alone(ann: Person, database: str) -> None:
    ann("project", "init", "--store", database)
    ann("add", "Far away")

    registry = ann.home / ".tasky" / "registry.json"
    assert stat.S_IMODE(registry.stat().st_mode) == 0o600
    assert database in registry.read_text()
    kept = "".join(file.read_text() for file in (ann.folder / ".tasky").iterdir())
    assert "://" not in kept
    shown = ann("project", "info") + ann("project", "list")
    assert database not in shown
    # Another user of the same checkout has to bring the URL.
    other = Person(ann.home / "other", ann.folder)
    other.home.mkdir()
    refused = other.run("list")
    assert "project init --store" in refused.stderr
    # And one who does so sees the same plan.
    other("project", "init", "--store", database)
    assert other.data("list")["total"] == 1


def test_an_unreachable_database_is_told_without_its_password(ann: Person) -> None:
    url = "postgresql://ann:s3cret@127.0.0.1:1/plans"

    done = ann.run("project", "init", "--store", url)

    assert done.returncode == 1
    assert "cannot be reached" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    # Nothing is left that would stand in the way of another store.
    assert not (ann.folder / ".tasky").exists()
    assert ann.data("project", "list") == []
    assert "tasks.db" in ann("project", "init")


def test_what_is_exported_can_be_imported_elsewhere(ann: Person, tmp_path: Path) -> None:
    ann("project", "init")
    first = ann.data("add", "First", "--due", "2026-12-24", "--tag", "x")
    second = ann.data(
        "add", "Second", "--blocker", first["task_id"], "--subtask-of", first["task_id"]
    )
    ann("done", second["task_id"])
    ann("export", "plan.json")
    (tmp_path / "other").mkdir()
    other = Person(ann.home, tmp_path / "other")
    other("project", "init", "--store", "json")
    file = str(ann.folder / "plan.json")

    assert other.data("import", file, "--dry-run") == {
        "imported": 2,
        "updated": 0,
        "already_there": 0,
        "dry_run": True,
        "format": "tasky",
        "warnings": [],
    }
    assert other.data("list", "--status", "all")["total"] == 0
    assert other.data("import", file)["imported"] == 2
    assert other.data("import", file)["already_there"] == 2

    changing = {"updated_at", "revision", "event_id"}
    shown = [
        {k: v for k, v in view.items() if k not in changing}
        for person in (ann, other)
        for view in person.data("show", first["task_id"], second["task_id"])
    ]
    assert shown[:2] == shown[2:]


def test_an_import_with_an_error_brings_in_nothing(ann: Person) -> None:
    ann("project", "init")
    (ann.folder / "bad.json").write_text(
        json.dumps([{"name": "Good"}, {"name": "", "priority": 3}])
    )

    done = ann.run("import", "bad.json")

    assert (done.returncode, "task 1" in done.stderr) == (1, True)
    assert ann.data("list")["total"] == 0


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_an_old_store_is_upgraded_after_a_copy(kind: str, ann: Person) -> None:
    path = write_old_json(ann.folder)
    if kind == "sqlite":
        path.unlink()
        path = path.with_name("tasks.db")
        write_old_sqlite(path)
        (ann.folder / ".tasky" / "config.toml").write_text('[storage]\nbackend = "sqlite"\n')
    before = path.read_bytes()

    rows = ann.data("list", "--status", "all")

    assert [row["name"] for row in rows["tasks"]] == ["Old one", "Old two"]
    one, two = (ann.data("show", task_id)[0] for task_id in OLD)
    assert (one["priority"], one["created_at"]) == (3, "2025-03-01T10:00:00.500000Z")
    assert (two["status"], two["updated_at"]) == ("completed", "2025-03-02T11:00:00.000000Z")
    (copy,) = path.parent.glob("*.bak")
    if kind == "json":
        assert copy.read_bytes() == before
    else:
        kept = sqlite3.connect(copy).execute("SELECT task_id FROM tasks ORDER BY 1").fetchall()
        assert [row[0] for row in kept] == sorted(OLD)
    assert ann.data("add", "New", "--blocker", "00000001")["blockers"] == [next(iter(OLD))]


def test_an_old_store_that_another_program_is_writing_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    write_old_sqlite(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(lambda: open_store(Location("sqlite", path)).close())
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.5)
        other.execute("COMMIT")
        other.close()
        opening.result(timeout=60)


def test_an_old_store_with_bad_tasks_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = write_old_json(tmp_path)
    path.write_text(path.read_text().replace('"pending"', '"odd"'))
    before = path.read_bytes()

    error = refusal(lambda: open_store(Location("json", path)))

    assert (error.code, error.reason) == ("unavailable", "corrupt_store")
    assert path.read_bytes() == before
    database = tmp_path / "tasks.db"
    write_old_sqlite(database)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE tasks SET created_at = 'once'")
    assert refusal(lambda: open_store(Location("sqlite", database))).reason == "corrupt_store"
    kept = sqlite3.connect(database)
    assert kept.execute("SELECT count(*) FROM tasks WHERE created_at = 'once'").fetchone() == (2,)


@pytest.mark.parametrize("kind", ["json", "sqlite"])
@pytest.mark.parametrize(
    "content", [b"{", b"not a store at all, but long enough to be one" * 9, b"[]"]
)
def test_a_corrupt_file_is_refused_and_left_alone(
    kind: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "tasks"
    path.write_bytes(content)

    error = refusal(lambda: open_store(Location(kind, path)))

    assert (error.code, error.reason) == ("unavailable", "corrupt_store")
    assert path.read_bytes() == content


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_service_that_runs_writes_to_no_file_that_is_gone_or_replaced(
    kind: str, tmp_path: Path
) -> None:
    path, away, backup = (tmp_path / name for name in ("tasks", "away", "backup"))
    old = Tasks(open_store(Location(kind, backup)), Plan(name="Old"))
    create(old, "From the backup")
    old.close()
    plan = Tasks(open_store(Location(kind, path)), Plan(name="Plan"))
    create(plan, "Before")

    path.rename(away)
    for call in (plan.info, lambda: create(plan, "Lost")):
        error = refusal(call)
        assert (error.code, error.reason) == ("unavailable", "store_unusable")
    assert not path.exists()
    away.rename(path)
    assert names(plan) == ["Before"]

    path.rename(away)
    path.with_name("tasks-wal").unlink(missing_ok=True)
    backup.rename(path)
    create(plan, "After")
    assert names(plan) == ["From the backup", "After"]
    path.unlink()
    path.write_bytes(b"not a store at all, but long enough to be one" * 9)
    for _ in range(2):
        assert refusal(plan.info).reason == "corrupt_store"
    plan.close()


def test_a_json_plan_cut_short_is_refused_by_a_service_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    tasks = Tasks(open_store(Location("json", path)), Plan(name="x"))
    create(tasks, "One", "Two")
    whole = path.read_bytes()

    path.write_bytes(whole[:-40])
    error = refusal(lambda: create(tasks, "Three"))
    path.write_bytes(whole)

    assert isinstance(error, UnavailableError)
    assert error.reason == "corrupt_store"
    assert names(tasks) == ["One", "Two"]


def test_a_json_plan_may_be_edited_and_reformatted_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    tasks = Tasks(open_store(Location("json", path)), Plan(name="x"))
    (one,) = create(tasks, "One")
    file = tmp_path / "tasks" / f"{one}.json"
    data = json.loads(file.read_text())
    data["name"] = "By hand"
    file.write_text(json.dumps(data, indent=4))

    assert get(tasks, one)["name"] == "By hand"
    edit(tasks, "complete", one)
    assert (
        get(Tasks(open_store(Location("json", path)), Plan(name="y")), one)["status"] == "completed"
    )


def test_a_json_plan_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "tasks.json"
    open_store(Location("json", real)).close()
    real.chmod(0o600)
    link.symlink_to(real)

    create(Tasks(open_store(Location("json", link)), Plan(name="x")), "One")

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert names(Tasks(open_store(Location("json", real)), Plan(name="x"))) == ["One"]


def test_settings_are_layered(ann: Person) -> None:
    (ann.home / ".tasky").mkdir()
    (ann.home / ".tasky" / "config.toml").write_text("[task_defaults]\npriority = 2\n")
    ann("project", "init")
    own = ann.folder / ".tasky" / "config.toml"

    assert ann.data("add", "By the user")["priority"] == 2
    own.write_text(own.read_text() + "\n[task_defaults]\npriority = 4\n")
    assert ann.data("add", "By the project")["priority"] == 4
    done = ann.run("add", "By the variable", "--json", TASKY_TASK_DEFAULTS__PRIORITY="1")
    assert json.loads(done.stdout)["priority"] == 1
    assert ann.run("add", "x", TASKY_TASK_DEFAULTS__PRIORITY="high").returncode == 1


@pytest.mark.parametrize(
    "storage",
    ['path = "../../stolen.db"', 'path = "/tmp/stolen.db"', 'backend = "mysql"'],
)
def test_a_strangers_project_leads_nowhere(storage: str, tmp_path: Path) -> None:
    (tmp_path / ".tasky").mkdir()
    (tmp_path / ".tasky" / "config.toml").write_text(f"[storage]\n{storage}\n")
    home = Home(tmp_path / "home", {})

    assert isinstance(refusal(lambda: home.project(tmp_path)), InvalidError)


def test_the_registry_keeps_what_others_wrote(ann: Person) -> None:
    (ann.home / ".tasky").mkdir()
    registry = ann.home / ".tasky" / "registry.json"
    theirs = {"path": "/elsewhere", "name": "theirs", "extra": [1]}
    registry.write_text(json.dumps({"registry_version": "1.0", "projects": [theirs]}))

    ann("project", "init")

    kept = json.loads(registry.read_text())
    assert kept["registry_version"] == "1.0"
    assert kept["projects"][0] == theirs
    assert kept["projects"][1]["path"] == str(ann.folder)
    registry.write_text("{")
    assert ann.run("project", "list").returncode == 1
    assert registry.read_text() == "{"
