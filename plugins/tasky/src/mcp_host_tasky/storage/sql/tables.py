"""The tables of both databases, and the steps from older formats.

Relations and tags stand twice: in the task's own row, so that a task is one row to read, and in
tables of their own, so that they are found from the other side.
"""

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
CREATE INDEX tasks_parent ON tasks (subtask_of, task_id) WHERE subtask_of IS NOT NULL;
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
"""What both databases read. `{text}` is the type whose order is the order of bytes. Long texts
stand last: what follows a long text in a row, SQLite reads only through all of it."""

BITMAPS = """
CREATE TABLE bitmaps (
    word {text} NOT NULL,
    part INTEGER NOT NULL,
    bits {bytes} NOT NULL,
    PRIMARY KEY (word, part)
);
CREATE INDEX bitmaps_part ON bitmaps (part);
CREATE TABLE reworded (
    number BIGINT NOT NULL PRIMARY KEY,
    at_event BIGINT NOT NULL,
    stamp BIGINT NOT NULL
);
INSERT INTO reworded SELECT number, last_event, {stamp} FROM tasks;
CREATE INDEX tasks_waiting ON tasks (sort_key)
    WHERE status = 'pending' AND (open_blockers > 0 OR held_up = 1);
"""
"""Bitmaps of frequent words, and the tasks of which none is right: of an older plan all of them. No
other text of a task has the same `stamp`, in any copy of the plan: so its text can be remembered.
And where a walk meets what waits, which are few among others."""

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

STEPS = {2: TO_FORMAT_3, 3: TO_FORMAT_4, 4: "", 5: ""}
"""The statements that bring each earlier format to the next one. From 4 to 5 the words are kept in
another way, in each database in its own, and from 5 to 6 in SQLite."""
VERSION = max(STEPS) + 1
"""The format that is read and written."""


def steps_from(version: int) -> str:
    """Return the statements that bring a format to the newest one."""
    return "".join(STEPS[number] for number in range(version, VERSION))
