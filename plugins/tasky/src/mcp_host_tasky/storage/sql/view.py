"""A reading or a writing by SQL: the statements that both databases understand.

`apply` keeps alike what stands twice: a task's relations and tags, in its row and in their tables.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, LiteralString

from ...model import Event, Found, Kept, Members, Status, Summary, Task, Wanted
from ..readiness import IS_PENDING, count_unblocked, hold_up
from ..store import COUNTED, SHORT_IDS, Changes
from .bitmaps import KeptTexts
from .drawing import Drawings, Drawn
from .rows import (
    EVENT,
    EVENT_COLUMNS,
    SUMMARY,
    TASK,
    TASK_COLUMNS,
    changed_columns,
    event_of,
    event_row,
    mended,
    summary_of,
    task_of,
    task_row,
)
from .where import Where, past_unblocking

EXPANSIONS = 50
"""Up to so many words that begin alike are spelt out in a search."""
_ANSWER = "key, fingerprint, answer, at"
_ANSWER_COLUMNS = _ANSWER.split(", ")
LAST_EVENT: LiteralString = "SELECT coalesce(max(event_id), 0) FROM events"
LAST_NUMBER: LiteralString = "SELECT value FROM counters WHERE name = 'last_number'"
_OPEN_BLOCKERS = (
    "(SELECT count(*) FROM waits JOIN tasks AS blocker ON blocker.task_id = waits.blocker_id "
    f"WHERE waits.task_id = tasks.task_id AND {IS_PENDING.format('blocker')})"
)
_UNDOABLE = "undone_by IS NULL AND action NOT IN ('claim', 'release', 'note', 'undo')"


class SqlView:
    """A reading or writing over one connection's transaction.

    A subclass says how its database runs a statement with `?` for values, how it names a set of
    values, and how it searches and keeps words.
    """

    stamp: LiteralString
    """A number that no other text has: an expression of the database."""

    def __init__(self, drawings: Drawings | None = None, texts: KeptTexts | None = None) -> None:
        """`drawings` is what its store remembers of texts that were drawn, `texts` what it does of
        tasks that were reworded."""
        self._drawings = drawings or Drawings()
        self._texts = texts or KeptTexts()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        raise NotImplementedError

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Put rows into a table, by the names of their columns."""
        names = ", ".join(columns)
        self.run(f"INSERT INTO {table} ({names}) VALUES ({_marks(len(columns))})", rows)

    def update_tasks(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Set columns of tasks, each row of values ending with its number. The open blockers of
        those that come to wait for others are counted with them."""
        self.run(f"UPDATE tasks SET {task_settings(columns, '?')} WHERE number = ?", rows)

    def add(self, table: str, column: str, key: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add to a column of a table's rows; each row of values is a number and its key."""
        self.run(f"UPDATE {table} SET {column} = {column} + ? WHERE {key} = ?", rows)

    def delete(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Remove the rows that have these values in these columns."""
        where = " AND ".join(f"{column} = ?" for column in columns)
        self.run(f"DELETE FROM {table} WHERE {where}", rows)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        """Return the right side of `column …` for any of these, and its one value."""
        raise NotImplementedError

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        """Return a table `one` with a column `value` that has these, and its one bound value."""
        raise NotImplementedError

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        raise NotImplementedError

    def words_from(self, task: Task) -> tuple[Any, ...]:
        """Return what of a task the words come from that it is found by."""
        return task.name, task.details, task.status, task.tags

    def put_words(self, tasks: list[Task]) -> None:
        """Have new tasks found by their words; they come by number."""
        raise NotImplementedError

    def replace_words(self, pairs: list[tuple[Task, Task]]) -> None:
        """Have tasks, each as it was and as it is, found by other words; they come by number."""
        raise NotImplementedError

    def drop_words(self, numbers: list[int]) -> None:
        raise NotImplementedError

    def known(self, word: str, most: int | None = None) -> list[str] | None:
        """Return the words of tasks that begin so; None where they are more than so many, or than
        are usually spelt out."""
        most = EXPANSIONS if most is None else most
        found = self.rows(
            "SELECT word FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?",
            (word, word + "\U0010ffff", most + 1),
        )
        return [row[0] for row in found] if len(found) <= most else None

    def texts(self, numbers: Collection[int]) -> dict[int, str]:
        """Return by their numbers the texts that tasks are found by: words, and what else the index
        of words has."""
        raise NotImplementedError

    def kept_texts(self, stamps: Mapping[int, int]) -> Mapping[int, str]:
        """Return the texts of tasks that were reworded, by their numbers."""
        return self._texts.of(self, stamps)

    def drawn(self, count: int, *, more: bool = False) -> Drawn:
        """Return the texts of about so many tasks or more, drawn from all over the plan; with
        `more`, of so many more than were drawn yet."""
        return self._drawings.of(self, count, more=more)

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

    def whole_ids(self, beginnings: Collection[str]) -> dict[str, str]:
        source, value = self.each(beginnings)
        same = "tasks WHERE task_id >= one.value AND task_id < one.value || '~'"
        sql = (
            f"SELECT one.value, (SELECT min(task_id) FROM {same}), "
            f"(SELECT max(task_id) FROM {same}) FROM {source}"
        )
        found = self.rows(sql, (value,))
        return {said: first for said, first, last in found if first is not None and first == last}

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

    def details(self, ids: Collection[str]) -> dict[str, str]:
        clause, value = self.among(ids)
        return dict(
            self.rows(f"SELECT task_id, details FROM tasks WHERE task_id {clause}", (value,))
        )

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        sql = f"SELECT blocker_id, task_id FROM waits WHERE blocker_id {clause} ORDER BY 1, 2"
        return _grouped(self.rows(sql, (value,)))

    def first_waiting(self, ids: Collection[str], most: int) -> dict[str, Members]:
        return self._first("waits", "blocker_id", self.waiting, ids, most)

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]:
        clause, value = self.among(ids)
        # The second condition says nothing new, but lets SQLite use the partial index.
        sql = (
            f"SELECT subtask_of, task_id FROM tasks WHERE subtask_of {clause} "
            "AND subtask_of IS NOT NULL ORDER BY 1, 2"
        )
        return _grouped(self.rows(sql, (value,)))

    def first_subtasks(self, ids: Collection[str], most: int) -> dict[str, Members]:
        return self._first("tasks", "subtask_of", self.subtasks, ids, most)

    def _first(
        self,
        table: str,
        column: str,
        all_of: Callable[[Collection[str]], dict[str, list[str]]],
        ids: Collection[str],
        most: int,
    ) -> dict[str, Members]:
        """Return at most so many of the tasks whose column of a table names each of these."""
        clause, value = self.among(ids)
        named = f"{column} IS NOT NULL AND {column}"
        sql = f"SELECT {column}, count(*) FROM {table} WHERE {named} {clause} GROUP BY 1"
        counts: dict[str, int] = dict(self.rows(sql, (value,)))
        few = [one for one, count in counts.items() if count <= most]
        found = all_of(few) if few else {}
        for one in counts.keys() - found.keys():
            sql = f"SELECT task_id FROM {table} WHERE {named} = ? ORDER BY 1 LIMIT ?"
            found[one] = [row[0] for row in self.rows(sql, (one, most))]
        return {one: Members(found[one], count) for one, count in counts.items()}

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
        raise NotImplementedError

    def unblocking_where(
        self, source: str, where: Where, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        """Return what unblocks most among those of a source that fulfil the conditions."""
        where.add(past_unblocking(after))
        sql = (
            f"SELECT {SUMMARY}, NULL, unblocks FROM {source} WHERE {where} "
            "ORDER BY unblocks DESC, sort_key LIMIT ?"
        )
        found = self.rows(sql, (*where.values, limit))
        return [replace(summary_of(row, wanted), unblocks=row[9]) for row in found]

    def open_among(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        clause, value = self.among(ids)
        # The status is looked at here: as a condition it would lead SQLite to the status index.
        rows = self.rows(f"SELECT task_id, status FROM tasks WHERE task_id {clause}", (value,))
        return {task_id for task_id, status in rows if status == Status.PENDING}

    def parents(self, ids: Collection[str]) -> dict[str, str | None]:
        clause, value = self.among(ids)
        sql = (
            "WITH RECURSIVE up (id, whole) AS ("
            f"SELECT task_id, subtask_of FROM tasks WHERE task_id {clause} UNION "
            "SELECT tasks.task_id, tasks.subtask_of FROM up "
            "JOIN tasks ON tasks.task_id = up.whole) SELECT id, whole FROM up"
        )
        return dict(self.rows(sql, (value,)))

    def upstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        return self._stream(ids, limit, "task_id", "blocker_id")

    def downstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        return self._stream(ids, limit, "blocker_id", "task_id")

    def _stream(
        self, ids: Collection[str], limit: int, this: str, following: str
    ) -> dict[str, tuple[str, ...]]:
        clause, value = self.among(ids)
        # The walk ends at the limit, which stands outside of it: PostgreSQL takes none inside.
        sql = (
            f"WITH RECURSIVE stream (id) AS (SELECT task_id FROM tasks WHERE task_id {clause} "
            f"UNION SELECT waits.{following} FROM stream JOIN waits ON waits.{this} = stream.id) "
            f"SELECT first.id, waits.{following} FROM (SELECT id FROM stream LIMIT ?) AS first "
            f"LEFT JOIN waits ON waits.{this} = first.id ORDER BY 1, 2"
        )
        rows = self.rows(sql, (value, max(limit, len(ids))))
        found: dict[str, list[str]] = {key: [] for key, _ in rows}
        for key, other in rows:
            if other is not None:
                found[key].append(other)
        return {key: tuple(others) for key, others in found.items()}

    def summaries(self, numbers: Collection[int], wanted: Wanted) -> list[Summary]:
        """Return these tasks as rows of a list, in its order."""
        clause, value = self.among(numbers)
        # Details are long, and read for a snippet alone.
        columns = f"{SUMMARY}, details" if wanted.words else SUMMARY
        sql = f"SELECT {columns} FROM tasks WHERE number {clause} ORDER BY sort_key"
        return [summary_of(row, wanted) for row in self.rows(sql, (value,))]

    def count(self, matches: str, values: Sequence[Any], most: int = COUNTED) -> int:
        """Return how many rows a SELECT has, at most one more than so many."""
        sql = f"SELECT count(*) FROM ({matches} LIMIT {most + 1}) AS matches"
        return int(self.rows(sql, values)[0][0])

    def found(
        self, rows: list[Summary], total: int, wanted: Wanted, *, is_part: bool = False
    ) -> Found:
        """Return a page with its total; counters know it exactly, else counting ended. `is_part`
        says that it ended before all were looked at: the page may have met more than were counted.
        """
        total = max(total, len(rows)) if is_part else total
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
        return int(self.rows(LAST_NUMBER)[0][0])

    def last_event(self) -> int:
        return int(self.rows(LAST_EVENT)[0][0])

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
        sql = f"SELECT {EVENT} FROM events WHERE {' AND '.join(where)}"
        rows = self.rows(f"{sql} ORDER BY event_id DESC LIMIT ?", (*bound, limit))
        return [event_of(row) for row in rows]

    def events_by_id(self, ids: Collection[int]) -> dict[int, Event]:
        clause, value = self.among(ids)
        sql = f"SELECT {EVENT} FROM events WHERE event_id {clause}"
        return {row[0]: event_of(row) for row in self.rows(sql, (value,))}

    def batch(self, batch: int) -> list[Event]:
        sql = f"SELECT {EVENT} FROM events WHERE batch = ? ORDER BY event_id"
        return [event_of(row) for row in self.rows(sql, (batch,))]

    def last_batch(self, actor: str) -> int | None:
        sql = f"SELECT batch FROM events WHERE actor = ? AND {_UNDOABLE}"
        found = self.rows(f"{sql} ORDER BY event_id DESC LIMIT 1", (actor,))
        return int(found[0][0]) if found else None

    def kept(self, key: str) -> Kept | None:
        found = self.rows(f"SELECT {_ANSWER} FROM answers WHERE key = ?", (key,))
        return Kept(*found[0]) if found else None

    def every_task(self, *, mends: bool = False) -> Iterator[Task]:
        for row in self.rows(f"SELECT {TASK} FROM tasks ORDER BY number"):
            yield task_of(mended(TASK_COLUMNS[: len(row)], row) if mends else row)

    def every_event(self, *, mends: bool = False) -> Iterator[Event]:
        for row in self.rows(f"SELECT {EVENT} FROM events ORDER BY event_id"):
            yield event_of(mended(EVENT_COLUMNS, row) if mends else row)

    def every_kept(self) -> Iterator[Kept]:
        for row in self.rows(f"SELECT {_ANSWER} FROM answers ORDER BY key"):
            yield Kept(*row)

    # Writing

    def apply(self, changes: Changes) -> None:
        # Nothing else waits for this: a server writes it while words are compared here.
        self.insert("events", EVENT_COLUMNS, [event_row(event) for event in changes.events])
        self._forget([before for before, after in changes.tasks if before and not after])
        self._insert([after for before, after in changes.tasks if after and not before])
        self._relate(changes.tasks)
        self._replace([(old, new) for old, new in changes.tasks if old and new])
        self.relate_tags(changes.tasks)
        recounted = self._count_blockers(changes)
        count_unblocked(self, changes)
        hold_up(self, changes, recounted)
        self._count_statuses(changes)
        self.run(
            "UPDATE events SET undone_by = ? WHERE event_id = ?",
            [(by, event_id) for event_id, by in changes.undone.items()],
        )
        for beginning, before in changes.forget:
            self.rows_of(
                "DELETE FROM answers WHERE key >= ? AND key < ? AND at < ?",
                (beginning, beginning + "\U0010ffff", before),
            )
        answers = [(kept.key, kept.fingerprint, kept.answer, kept.at) for kept in changes.kept]
        self.insert("answers", _ANSWER_COLUMNS, answers)

    def rows_of(self, sql: str, values: Sequence[Any]) -> None:
        """Run a statement that answers nothing."""
        self.run(sql, [values])

    def _forget(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        numbers = sorted(task.number for task in tasks)
        self.run("DELETE FROM tasks WHERE number = ?", [(number,) for number in numbers])
        self.drop_words(numbers)
        self._reword(numbers)

    def _insert(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        self.insert("tasks", TASK_COLUMNS, [task_row(task) for task in tasks])
        self.put_words(sorted(tasks, key=lambda task: task.number))
        self._reword([task.number for task in tasks])

    def _replace(self, pairs: list[tuple[Task, Task]]) -> None:
        if not pairs:
            return
        other = [(old, new) for old, new in pairs if self.words_from(old) != self.words_from(new)]
        if other:
            self.replace_words(sorted(other, key=lambda pair: pair[1].number))
            self._reword([new.number for _, new in other])
        # Only what changed is set: an index whose columns are not named is not written.
        alike: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for old, new in pairs:
            columns, values = changed_columns(old, new)
            alike.setdefault(columns, []).append((*values, new.number))
        for columns, rows in alike.items():
            self.update_tasks(columns, rows)

    def _reword(self, numbers: Collection[int]) -> None:
        """Note that no bitmap is right of tasks, whose words have changed."""
        clause, value = self.each(list(map(str, numbers)))
        self.rows_of(
            f"INSERT INTO reworded SELECT CAST(value AS BIGINT), ({LAST_EVENT}), {self.stamp} "
            f"FROM {clause} WHERE true ON CONFLICT (number) "
            "DO UPDATE SET at_event = excluded.at_event, stamp = excluded.stamp",
            (value,),
        )

    def _relate(self, pairs: Iterable[tuple[Task | None, Task | None]]) -> None:
        """Keep what tasks, each as it was and as it is, wait for: only what differs is written."""
        gone, come = [], []
        for old, new in pairs:
            before, after = _waits(old), _waits(new)
            gone += sorted(before - after)
            come += sorted(after - before)
        self.delete("waits", ("blocker_id", "task_id"), gone)
        self.insert("waits", ("blocker_id", "task_id"), come)

    def relate_tags(self, pairs: Iterable[tuple[Task | None, Task | None]]) -> None:
        """Keep which tasks have a tag, as `_relate` keeps what they wait for."""
        gone, come = [], []
        for old, new in pairs:
            had, has = _tagged(old), _tagged(new)
            gone += sorted(had - has)
            come += sorted(has - had)
        self.delete("tagged", ("tag", "number"), gone)
        self.insert("tagged", ("tag", "number"), come)

    def _count_blockers(self, changes: Changes) -> set[str]:
        """Count the open blockers anew, of tasks that changed theirs or whose blockers changed;
        return which those are."""
        related: set[str] = set()
        recount: set[str] = set()
        switched = []
        for before, after in changes.tasks:
            if after and (before.blockers if before else ()) != after.blockers:
                (related if before else recount).add(after.task_id)
            # Whoever waits for a task that this very write made or deleted changed its blockers.
            if before and after and before.is_open != after.is_open:
                switched.append(after.task_id)
        for waiting in self.waiting(switched).values() if switched else ():
            recount.update(waiting)
        if switched:  # they were counted with their rows, when some of these were not written yet
            recount |= related
        if recount:
            self.recount_blockers(sorted(recount))
        return recount | related

    def recount_blockers(self, ids: list[str]) -> None:
        """Count the open blockers of these tasks."""
        clause, value = self.among(ids)
        sql = f"UPDATE tasks SET open_blockers = {_OPEN_BLOCKERS} WHERE task_id {clause}"
        self.rows_of(sql, (value,))

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


def task_settings(columns: Sequence[str], value: str) -> str:
    """Return what an UPDATE of tasks sets: the columns, each to a value that may name it, and with
    blockers how many of them are open. A row that is written twice takes each index twice."""
    counted = [f"open_blockers = {_OPEN_BLOCKERS}"] if "blockers" in columns else []
    return ", ".join([*(f"{column} = {value.format(column)}" for column in columns), *counted])


def _waits(task: Task | None) -> set[tuple[str, str]]:
    """Return the rows of what a task waits for."""
    return {(blocker, task.task_id) for blocker in task.blockers} if task else set()


def _tagged(task: Task | None) -> set[tuple[str, int]]:
    """Return the rows of a task's tags."""
    return {(tag, task.number) for tag in task.tags} if task else set()


def _grouped(pairs: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _marks(count: int) -> str:
    return ", ".join("?" * count)
