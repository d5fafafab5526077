"""What the two SQL stores share: rows, the statements both understand, and keeping changes.

Relations and tags stand twice: in the task's own row, so that a task is one row to read, and in
tables of their own, so that they are found from the other side. `apply` keeps the two alike.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..model import (
    Change,
    Claim,
    Event,
    Found,
    Kept,
    Note,
    Source,
    Status,
    Summary,
    Task,
    Wanted,
    words_of,
    written,
)
from .readiness import IS_PENDING, count_unblocked, hold_up
from .store import COUNTED, SHORT_IDS, Changes

TASK = (
    "task_id, number, name, details, status, priority, due_date, due_at, tags, blockers, "
    "subtask_of, created_at, updated_at, revision, last_event, claimant, claim_token, "
    "claimed_until, holder, claims, notes, done_when, discovered_from, source"
)
_TASK_COLUMNS = TASK.split(", ")
_EVENT = (
    "event_id, batch, item, at, caller, action, task_id, name, revision, changes, previous, "
    "undoes, undone_by, actor, undo_key"
)
SUMMARY = "task_id, name, status, priority, due_date, sort_key, claimant, claimed_until"
# A shorter word matches only itself: too much begins with one or two letters.
SHORTEST_PREFIX = 3
# Up to this many matches are fetched and sorted; more are met soon on a walk in list order.
FEW = 2_000
_UNDOABLE = "undone_by IS NULL AND action NOT IN ('claim', 'release', 'note', 'undo')"

LIVE = "claimed_until > ? AND claimed_until <= ?"
_NOBODY = "nobody"  # a claim without a holder has an empty one, which must not be the caller's

# Both databases read these. `{text}` is the type whose order is the order of bytes. Long texts
# stand last: what follows a long text in a row, SQLite reads only through all of it.
TABLES = """
CREATE TABLE tasks (
    number BIGINT NOT NULL PRIMARY KEY,
    task_id {text} NOT NULL UNIQUE,
    sort_key {text} NOT NULL,
    name {text} NOT NULL,
    status {text} NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled')),
    priority INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 5),
    due_date {text},
    due_at {text},
    subtask_of {text},
    created_at {text} NOT NULL,
    updated_at {text} NOT NULL,
    revision BIGINT NOT NULL,
    last_event BIGINT NOT NULL,
    claimant {text},
    claim_token {text},
    claimed_until {text},
    holder {text},
    claims INTEGER NOT NULL DEFAULT 0,
    discovered_from {text},
    open_blockers INTEGER NOT NULL DEFAULT 0,
    unblocks INTEGER NOT NULL DEFAULT 0,
    held_up INTEGER NOT NULL DEFAULT 0,
    done_when {text} NOT NULL DEFAULT '[]',
    source {text},
    tags {text} NOT NULL,
    blockers {text} NOT NULL,
    notes {text} NOT NULL DEFAULT '[]',
    details {text} NOT NULL
);
CREATE INDEX tasks_order ON tasks (sort_key);
CREATE INDEX tasks_status_order ON tasks (status, sort_key);
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, holder)
    WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0;
CREATE INDEX tasks_unblocking ON tasks (unblocks DESC, sort_key)
    WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0;
CREATE INDEX tasks_discovered ON tasks (discovered_from) WHERE discovered_from IS NOT NULL;
CREATE INDEX tasks_claimed ON tasks (claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX tasks_created ON tasks (created_at);
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_parent ON tasks (subtask_of) WHERE subtask_of IS NOT NULL;
CREATE TABLE waits (
    blocker_id {text} NOT NULL,
    task_id {text} NOT NULL,
    PRIMARY KEY (blocker_id, task_id)
);
CREATE INDEX waits_task ON waits (task_id, blocker_id);
CREATE TABLE tagged (tag {text} NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (tag, number));
CREATE TABLE events (
    event_id BIGINT NOT NULL PRIMARY KEY,
    batch BIGINT NOT NULL,
    item INTEGER NOT NULL,
    at {text} NOT NULL,
    caller {text} NOT NULL,
    action {text} NOT NULL,
    task_id {text} NOT NULL,
    name {text} NOT NULL,
    revision BIGINT NOT NULL,
    changes {text} NOT NULL,
    previous BIGINT NOT NULL,
    undoes BIGINT,
    undone_by BIGINT,
    actor {text} NOT NULL DEFAULT '',
    undo_key {text} NOT NULL DEFAULT ''
);
CREATE INDEX events_task ON events (task_id, event_id);
CREATE INDEX events_batch ON events (batch);
CREATE INDEX events_undo ON events (actor, event_id)
    WHERE undone_by IS NULL AND action NOT IN ('claim', 'release', 'note', 'undo');
CREATE TABLE answers (
    key {text} NOT NULL PRIMARY KEY,
    fingerprint {text} NOT NULL,
    answer {text} NOT NULL,
    at {text} NOT NULL
);
CREATE TABLE counters (name {text} NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counters VALUES ('pending', 0), ('completed', 0), ('cancelled', 0), ('last_number', 0);
"""

# From format 2 to 3: who holds a claim and who made a change, beyond the name that is shown.
TO_FORMAT_3 = """
ALTER TABLE tasks ADD COLUMN holder {text};
ALTER TABLE tasks ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN notes {text} NOT NULL DEFAULT '[]';
ALTER TABLE events ADD COLUMN actor {text} NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN undo_key {text} NOT NULL DEFAULT '';
UPDATE tasks SET holder = '' WHERE claimant IS NOT NULL;
UPDATE events SET actor = caller;
DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, holder)
    WHERE status = 'pending' AND open_blockers = 0;
CREATE INDEX tasks_claimed ON tasks (claimed_until) WHERE claimed_until IS NOT NULL;
DROP INDEX events_undo;
CREATE INDEX events_undo ON events (actor, event_id)
    WHERE undone_by IS NULL AND action NOT IN ('claim', 'release', 'note', 'undo');
"""

# From format 3 to 4: what a task unblocks, whether an ancestor waits, where it comes from, and the
# conditions under which it is done.
TO_FORMAT_4 = """
ALTER TABLE tasks ADD COLUMN done_when {text} NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN discovered_from {text};
ALTER TABLE tasks ADD COLUMN source {text};
ALTER TABLE tasks ADD COLUMN unblocks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN held_up INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET unblocks = (SELECT count(*) FROM waits
    JOIN tasks AS other ON other.task_id = waits.task_id
    WHERE waits.blocker_id = tasks.task_id AND other.status = 'pending')
    WHERE task_id IN (SELECT blocker_id FROM waits);
DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, holder)
    WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0;
CREATE INDEX tasks_unblocking ON tasks (unblocks DESC, sort_key)
    WHERE status = 'pending' AND open_blockers = 0 AND held_up = 0;
CREATE INDEX tasks_discovered ON tasks (discovered_from) WHERE discovered_from IS NOT NULL;
"""


class Where:
    """A WHERE clause that grows by one condition at a time, with the values bound in it."""

    def __init__(self) -> None:
        self._parts = ["true"]
        self.values: list[Any] = []

    def need(self, part: str, *bound: Any) -> None:
        self._parts.append(part)
        self.values.extend(bound)

    def __str__(self) -> str:
        return " AND ".join(self._parts)


def common_conditions(wanted: Wanted, number: str) -> Where:
    """Return the conditions that both databases look up alike; `number` names the column, with a +
    where SQLite is not to look by it."""
    where = Where()
    if wanted.status:
        where.need("status = ?", wanted.status.value)
    if wanted.ready_for is not None:
        where.need("status = 'pending' AND open_blockers = 0 AND held_up = 0")
        where.need(
            "(claimed_until IS NULL OR claimed_until <= ? OR claimed_until > ? OR holder = ?)",
            wanted.now,
            wanted.latest_lease,
            wanted.ready_for or _NOBODY,
        )
    if wanted.claimed_by is not None:
        where.need(f"{LIVE} AND claimant = ?", wanted.now, wanted.latest_lease, wanted.claimed_by)
    if wanted.held_by is not None:
        own = (wanted.held_by, f"{wanted.held_by}/", f"{wanted.held_by}0")  # 0 follows / in order
        where.need(
            f"{LIVE} AND (holder = ? OR (holder > ? AND holder < ?))",
            wanted.now,
            wanted.latest_lease,
            *own,
        )
    if wanted.held:
        where.need(LIVE, wanted.now, wanted.latest_lease)
    if wanted.waiting:
        where.need("status = 'pending' AND (open_blockers > 0 OR held_up = 1)")
    for tag in wanted.tags:
        if number.startswith("+"):
            # SQLite would list all that have the tag, however soon a page is full.
            tagged = "SELECT 1 FROM tagged WHERE tag = ? AND tagged.number = tasks.number"
            where.need(f"EXISTS ({tagged})", tag)
        else:
            where.need(f"{number} IN (SELECT number FROM tagged WHERE tag = ?)", tag)
    return where


class SqlView:
    """A reading or writing over one connection's transaction.

    A subclass says how its database runs a statement with `?` for values, how it names a set of
    values, and how it searches and keeps words.
    """

    by_number = "tasks"
    """Where tasks are looked up by a few numbers, and by no index of another condition."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        raise NotImplementedError

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        """Return the right side of `column …` for any of these, and its one value."""
        raise NotImplementedError

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        """Return a table `one` with a column `value` that has these, and its one bound value."""
        raise NotImplementedError

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        raise NotImplementedError

    def put_words(self, rows: list[tuple[int, str]]) -> None:
        raise NotImplementedError

    def replace_words(self, rows: list[tuple[int, str]], met: set[str]) -> None:
        """Give tasks other texts; `met` are the words that stand in what changed of them."""
        raise NotImplementedError

    def drop_words(self, numbers: list[int]) -> None:
        raise NotImplementedError

    # Reading

    def now(self) -> datetime:
        return datetime.now(UTC)

    def ids_from(self, prefix: str, limit: int) -> list[str]:
        found = self.rows(
            "SELECT task_id FROM tasks WHERE task_id >= ? AND task_id < ? ORDER BY task_id LIMIT ?",
            (prefix, prefix + "~", limit),
        )
        return [row[0] for row in found]

    def past_ids_from(self, prefix: str, limit: int) -> list[str]:
        found = self.rows(
            "SELECT DISTINCT task_id FROM events WHERE task_id >= ? AND task_id < ? "
            "ORDER BY task_id LIMIT ?",
            (prefix, prefix + "~", limit),
        )
        return [row[0] for row in found]

    def short_ids(self, ids: Collection[str]) -> dict[str, str]:
        found: dict[str, str] = {task_id: task_id for task_id in ids}
        left = list(found)
        for length in SHORT_IDS:
            if not left:
                break
            source, value = self.each({task_id[:length] for task_id in left})
            sql = (
                "SELECT one.value, (SELECT count(*) FROM (SELECT 1 FROM tasks WHERE "
                "task_id >= one.value AND task_id < one.value || '~' LIMIT 2) AS same) "
                f"FROM {source}"
            )
            unique = {prefix for prefix, count in self.rows(sql, (value,)) if count < 2}
            found |= {task_id: task_id[:length] for task_id in left if task_id[:length] in unique}
            left = [task_id for task_id in left if task_id[:length] not in unique]
        return found

    def tasks(self, ids: Collection[str]) -> dict[str, Task]:
        if not ids:
            return {}
        clause, value = self.among(ids)
        rows = self.rows(f"SELECT {TASK} FROM tasks WHERE task_id {clause}", (value,))
        return {row[0]: task_of(row) for row in rows}

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        sql = f"SELECT blocker_id, task_id FROM waits WHERE blocker_id {clause} ORDER BY 1, 2"
        return _grouped(self.rows(sql, (value,)))

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        # The second condition says nothing new, but lets SQLite use the partial index.
        sql = (
            f"SELECT subtask_of, task_id FROM tasks WHERE subtask_of {clause} "
            "AND subtask_of IS NOT NULL ORDER BY 1, 2"
        )
        return _grouped(self.rows(sql, (value,)))

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        sql = (
            f"SELECT discovered_from, task_id FROM tasks WHERE discovered_from {clause} "
            "AND discovered_from IS NOT NULL ORDER BY 1, 2"
        )
        return _grouped(self.rows(sql, (value,)))

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        sql = (
            "SELECT waits.blocker_id, waits.task_id FROM waits "
            "JOIN tasks AS other ON other.task_id = waits.task_id "
            f"WHERE waits.blocker_id {clause} AND {IS_PENDING.format('other')} LIMIT ?"
        )
        return _grouped(self.rows(sql, (value, limit)))

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        source, where = self.unblocking(wanted)
        if after:
            where.need("(unblocks < ? OR (unblocks = ? AND sort_key > ?))", after[0], *after)
        columns = f"{SUMMARY}, {'details' if wanted.words else 'NULL'}, unblocks"
        sql = (
            f"SELECT {columns} FROM {source} WHERE {where} ORDER BY unblocks DESC, sort_key LIMIT ?"
        )
        found = self.rows(sql, (*where.values, limit))
        return [replace(summary_of(row, wanted), unblocks=row[9]) for row in found]

    def unblocking(self, wanted: Wanted) -> tuple[str, Where]:
        """Return where to look for what unblocks most, and the conditions."""
        raise NotImplementedError

    def open_among(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        clause, value = self.among(ids)
        # The status is looked at here: as a condition it would lead SQLite to the status index.
        rows = self.rows(f"SELECT task_id, status FROM tasks WHERE task_id {clause}", (value,))
        return {task_id for task_id, status in rows if status == Status.PENDING}

    def upstream(self, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        clause, value = self.among(ids)
        sql = (
            f"WITH RECURSIVE up (id) AS (SELECT task_id FROM tasks WHERE task_id {clause} "
            "UNION SELECT waits.blocker_id FROM up JOIN waits ON waits.task_id = up.id) "
            "SELECT waits.task_id, waits.blocker_id FROM up JOIN waits ON waits.task_id = up.id "
            "ORDER BY 1, 2"
        )
        return {key: tuple(found) for key, found in _grouped(self.rows(sql, (value,))).items()}

    def summaries(self, numbers: Collection[int], wanted: Wanted) -> list[Summary]:
        """Return these tasks as rows of a list, in its order."""
        clause, value = self.among(numbers)
        sql = f"SELECT {SUMMARY}, details FROM tasks WHERE number {clause} ORDER BY sort_key"
        return [summary_of(row, wanted) for row in self.rows(sql, (value,))]

    def from_few(
        self, numbers: Collection[int], wanted: Wanted, where: Where, after: str, limit: int
    ) -> Found:
        """Return the page, and the total, of those among a few tasks that fulfil the conditions."""
        clause, value = self.among(numbers)
        # Sorted here: an ORDER BY could lead the database to walk all tasks in list order.
        sql = f"SELECT sort_key, number FROM {self.by_number} WHERE number {clause} AND {where}"
        found = sorted(self.rows(sql, (value, *where.values)))
        page = [number for key, number in found if key > after][: limit + 1]
        return Found(self.summaries(page, wanted), len(found))

    def count(self, matches: str, values: Sequence[Any]) -> int:
        """Return how many rows a SELECT has, at most one more than are counted."""
        sql = f"SELECT count(*) FROM ({matches} LIMIT {COUNTED + 1}) AS matches"
        return int(self.rows(sql, values)[0][0])

    def found(
        self, rows: list[Summary], total: int, wanted: Wanted, *, is_part: bool = False
    ) -> Found:
        """Return a page with its total; counters know it exactly, else counting ended. `is_part`
        says that it ended before all were looked at."""
        is_cut = total > COUNTED and not wanted.only_status
        return Found(rows, COUNTED if is_cut else total, is_cut or is_part)

    def counts(self) -> dict[Status, int]:
        kept = dict(self.rows("SELECT name, value FROM counters"))
        return {status: kept[status.value] for status in Status}

    def counted(self, status: Status | None) -> int:
        """Return how many tasks have this status, or how many there are, by the counters."""
        counts = self.counts()
        return counts[status] if status else sum(counts.values())

    def last_number(self) -> int:
        found = self.rows("SELECT value FROM counters WHERE name = 'last_number'")
        return int(found[0][0])

    def last_event(self) -> int:
        return int(self.rows("SELECT coalesce(max(event_id), 0) FROM events")[0][0])

    def events(
        self, *, task_id: str | None = None, after: int = 0, before: int | None = None, limit: int
    ) -> list[Event]:
        where, values = ["event_id > ?"], [after]
        if before is not None:
            where.append("event_id < ?")
            values.append(before)
        bound: list[Any] = list(values)
        if task_id is not None:
            where.append("task_id = ?")
            bound.append(task_id)
        sql = f"SELECT {_EVENT} FROM events WHERE {' AND '.join(where)}"
        rows = self.rows(f"{sql} ORDER BY event_id DESC LIMIT ?", (*bound, limit))
        return [event_of(row) for row in rows]

    def events_by_id(self, ids: Collection[int]) -> dict[int, Event]:
        clause, value = self.among(ids)
        sql = f"SELECT {_EVENT} FROM events WHERE event_id {clause}"
        return {row[0]: event_of(row) for row in self.rows(sql, (value,))}

    def batch(self, batch: int) -> list[Event]:
        sql = f"SELECT {_EVENT} FROM events WHERE batch = ? ORDER BY event_id"
        return [event_of(row) for row in self.rows(sql, (batch,))]

    def last_batch(self, actor: str) -> int | None:
        sql = f"SELECT batch FROM events WHERE actor = ? AND {_UNDOABLE}"
        found = self.rows(f"{sql} ORDER BY event_id DESC LIMIT 1", (actor,))
        return int(found[0][0]) if found else None

    def kept(self, key: str) -> Kept | None:
        found = self.rows("SELECT key, fingerprint, answer, at FROM answers WHERE key = ?", (key,))
        return Kept(*found[0]) if found else None

    def every_task(self) -> Iterator[Task]:
        for row in self.rows(f"SELECT {TASK} FROM tasks ORDER BY number"):
            yield task_of(row)

    def every_event(self) -> Iterator[Event]:
        for row in self.rows(f"SELECT {_EVENT} FROM events ORDER BY event_id"):
            yield event_of(row)

    # Writing

    def apply(self, changes: Changes) -> None:
        self._forget([before for before, after in changes.tasks if before and not after])
        self._insert([after for before, after in changes.tasks if after and not before])
        self._replace([(old, new) for old, new in changes.tasks if old and new])
        recounted = self._count_blockers(changes)
        count_unblocked(self, changes)
        hold_up(self, changes, recounted)
        self._count_statuses(changes)
        self.run(
            f"INSERT INTO events ({_EVENT}) VALUES ({_marks(15)})",
            [event_row(event) for event in changes.events],
        )
        self.run(
            "UPDATE events SET undone_by = ? WHERE event_id = ?",
            [(by, event_id) for event_id, by in changes.undone.items()],
        )
        for beginning, before in changes.forget:
            self.rows_of(
                "DELETE FROM answers WHERE key >= ? AND key < ? AND at < ?",
                (beginning, beginning + "\U0010ffff", before),
            )
        if changes.kept:
            kept = changes.kept
            self.rows_of(
                "INSERT INTO answers (key, fingerprint, answer, at) VALUES (?, ?, ?, ?)",
                (kept.key, kept.fingerprint, kept.answer, kept.at),
            )

    def rows_of(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement that answers nothing."""
        self.run(sql, [values])

    def _forget(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        numbers = sorted(task.number for task in tasks)
        for table in ("tasks", "tagged"):
            self.run(f"DELETE FROM {table} WHERE number = ?", [(number,) for number in numbers])
        self.run("DELETE FROM waits WHERE task_id = ?", [(task.task_id,) for task in tasks])
        self.drop_words(numbers)

    def _insert(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        self.run(
            f"INSERT INTO tasks ({TASK}, sort_key) VALUES ({_marks(25)})",
            [task_row(task) for task in tasks],
        )
        self._relate(tasks)
        self.put_words(sorted((task.number, indexed(task)) for task in tasks))

    def _replace(self, pairs: list[tuple[Task, Task]]) -> None:
        if not pairs:
            return
        # Only what changed is set: an index whose columns are not named is not written.
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for old, new in pairs:
            columns, values = _changed_columns(old, new)
            alike.setdefault(columns, []).append((*values, new.number))
        for columns, rows in alike.items():
            settings = ", ".join(f"{column} = ?" for column in columns)
            self.run(f"UPDATE tasks SET {settings} WHERE number = ?", rows)
        related = [(o, n) for o, n in pairs if (o.tags, o.blockers) != (n.tags, n.blockers)]
        self.run("DELETE FROM waits WHERE task_id = ?", [(new.task_id,) for _, new in related])
        self.run("DELETE FROM tagged WHERE number = ?", [(new.number,) for _, new in related])
        self._relate([new for _, new in related])
        reworded = [
            (old, new)
            for old, new in pairs
            if (old.name, old.details, old.status) != (new.name, new.details, new.status)
        ]
        if reworded:
            met = {
                word
                for old, new in reworded
                for before, after in ((old.name, new.name), (old.details, new.details))
                if before != after
                for word in words_of(written(after))
            }
            self.replace_words(sorted((new.number, indexed(new)) for _, new in reworded), met)

    def _relate(self, tasks: list[Task]) -> None:
        self.run(
            "INSERT INTO waits (blocker_id, task_id) VALUES (?, ?)",
            [(blocker, task.task_id) for task in tasks for blocker in task.blockers],
        )
        self.run(
            "INSERT INTO tagged (tag, number) VALUES (?, ?)",
            [(tag, task.number) for task in tasks for tag in task.tags],
        )

    def _count_blockers(self, changes: Changes) -> set[str]:
        """Count the open blockers anew, of tasks that changed theirs or whose blockers changed;
        return which those are."""
        recount: set[str] = set()
        switched = []
        for before, after in changes.tasks:
            if after and (before.blockers if before else ()) != after.blockers:
                recount.add(after.task_id)
            # Whoever waits for a task that this very write made or deleted changed its blockers.
            if before and after and before.is_open != after.is_open:
                switched.append(after.task_id)
        for waiting in self.waiting(switched).values() if switched else ():
            recount.update(waiting)
        if recount:
            clause, value = self.among(sorted(recount))
            self.rows_of(
                "UPDATE tasks SET open_blockers = (SELECT count(*) FROM waits "
                "JOIN tasks AS blocker ON blocker.task_id = waits.blocker_id "
                "WHERE waits.task_id = tasks.task_id "
                f"AND blocker.status = 'pending') WHERE task_id {clause}",
                (value,),
            )
        return recount

    def _count_statuses(self, changes: Changes) -> None:
        steps: dict[Status, int] = {}
        for before, after in changes.tasks:
            for task, step in ((before, -1), (after, 1)):
                if task:
                    steps[task.status] = steps.get(task.status, 0) + step
        self.run(
            "UPDATE counters SET value = value + ? WHERE name = ?",
            [(step, status.value) for status, step in steps.items() if step],
        )
        made = (after.number for before, after in changes.tasks if after and not before)
        number = max(made, default=0)
        number = max(number, changes.last_number)
        if number:
            self.rows_of(
                "UPDATE counters SET value = ? WHERE name = 'last_number' AND value < ?",
                (number, number),
            )


def says(text: str, words: Collection[str]) -> bool:
    """Whether an indexed text has all the words: short ones whole, others as beginnings."""
    spaced = f" {text} "
    return all(
        (f" {word}" if len(word) >= SHORTEST_PREFIX else f" {word} ") in spaced for word in words
    )


def indexed(task: Task) -> str:
    """Return the words that a task is found by, as one folded text, and its status as another.

    The status is among the words because the two are often asked for together, and an index of
    words counts what has both without looking at tasks.
    """
    words = words_of(f"{task.name} {written(task.details)}")
    return " ".join([*words, status_word(task.status)])


def status_word(status: Status) -> str:
    """Return the status as a word that no text has: the dot is neither letter nor digit."""
    return f"·{status.value}"


def task_row(task: Task) -> tuple[Any, ...]:
    claim = task.claim
    return (
        task.task_id,
        task.number,
        task.name,
        task.details,
        task.status.value,
        task.priority,
        task.due_date,
        task.due_at,
        json.dumps(task.tags) if task.tags else "[]",
        json.dumps(task.blockers) if task.blockers else "[]",
        task.subtask_of,
        task.created_at,
        task.updated_at,
        task.revision,
        task.last_event,
        claim.claimant if claim else None,
        claim.token if claim else None,
        claim.until if claim else None,
        claim.holder if claim else None,
        task.claims,
        json.dumps(task.notes) if task.notes else "[]",
        json.dumps(task.done_when) if task.done_when else "[]",
        task.discovered_from,
        json.dumps(task.source) if task.source else None,
        task.sort_key,
    )


def _changed_columns(old: Task, new: Task) -> tuple[tuple[str, ...], list[Any]]:
    compared = zip([*_TASK_COLUMNS, "sort_key"], task_row(old), task_row(new), strict=True)
    changed = [(column, after) for column, before, after in compared if before != after]
    return tuple(column for column, _ in changed), [after for _, after in changed]


def task_of(row: Sequence[Any]) -> Task:
    return Task(
        task_id=row[0],
        number=row[1],
        name=row[2],
        details=row[3],
        status=Status(row[4]),
        priority=row[5],
        due_date=row[6],
        due_at=row[7],
        tags=() if row[8] == "[]" else tuple(json.loads(row[8])),
        blockers=() if row[9] == "[]" else tuple(json.loads(row[9])),
        subtask_of=row[10],
        created_at=row[11],
        updated_at=row[12],
        revision=row[13],
        last_event=row[14],
        claim=Claim(*row[15:19]) if row[15] is not None else None,
        claims=row[19],
        notes=() if row[20] == "[]" else tuple(Note(*note) for note in json.loads(row[20])),
        done_when=() if row[21] == "[]" else tuple(json.loads(row[21])),
        discovered_from=row[22],
        source=Source(*json.loads(row[23])) if row[23] else None,
    )


def event_row(event: Event) -> tuple[Any, ...]:
    return (
        event.event_id,
        event.batch,
        event.item,
        event.at,
        event.caller,
        event.action,
        event.task_id,
        event.name,
        event.revision,
        json.dumps(event.changes, separators=(",", ":")),
        event.previous,
        event.undoes,
        event.undone_by,
        event.actor,
        event.undo_key,
    )


def event_of(row: Sequence[Any]) -> Event:
    return Event(
        event_id=row[0],
        batch=row[1],
        item=row[2],
        at=row[3],
        caller=row[4],
        action=row[5],
        task_id=row[6],
        name=row[7],
        revision=row[8],
        changes={key: Change(*pair) for key, pair in json.loads(row[9]).items()},
        previous=row[10],
        undoes=row[11],
        undone_by=row[12],
        actor=row[13],
        undo_key=row[14],
    )


def summary_of(row: Sequence[Any], wanted: Wanted) -> Summary:
    """Read the columns of `SUMMARY`, and the details where they follow."""
    is_held = row[7] is not None and wanted.now < row[7] <= wanted.latest_lease
    return Summary(
        task_id=row[0],
        name=row[1],
        status=Status(row[2]),
        priority=row[3],
        due_date=row[4],
        sort_key=row[5],
        details=row[8] if len(row) > 8 else None,
        claimed_by=row[6] if is_held else None,
    )


def _grouped(pairs: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _marks(count: int) -> str:
    return ", ".join("?" * count)
