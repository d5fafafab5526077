"""What git tells of commits: where a branch was and when, what a commit changed, and by what id.

The id of a change is that of `git patch-id --verbatim`, of the lines alone without their numbers;
of a binary file it is that of both contents. So it is the same before and after a rebase, for one
commit and for a whole branch that became one, and never the same for two changes that differ.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .git import Checkout

NO_CHANGE = ""
PATHS_AT_MOST = 500
_DIFF = (
    "-r", "-p", "--root", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3",
)  # fmt: skip
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WHEN = re.compile(r"@\{([0-9]+)\}$")


@dataclass(frozen=True, slots=True)
class Move:
    """Where a ref went, when (Unix time) and why, in git's words."""

    commit: str
    at: int
    why: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit without its tree. Times are Unix times."""

    id: str
    written: int
    committed: int
    message: str


def moves_of(git: Checkout, ref: str) -> list[Move]:
    """Return where git remembers a ref to have been, oldest first; empty without a reflog."""
    shape = "--format=%H%x09%gd%x09%gs"
    answer = git.run("reflog", "show", "--date=unix", shape, "--end-of-options", ref, "--")
    found: list[Move] = []
    for line in answer.out.splitlines() if answer.ok else ():
        commit, where, why = (*line.split("\t", 2), "", "")[:3]
        when = _WHEN.search(where)
        found.append(Move(commit, int(when[1]) if when else 0, why))
    return found[::-1]


def commits(git: Checkout, *which: str, paths: Iterable[str] = ()) -> list[Commit]:
    """Return commits, merges left out, the oldest first; with `paths` those that touch one."""
    limited = list(paths)
    limit = ("--full-history", "--", *limited) if 0 < len(limited) <= PATHS_AT_MOST else ("--",)
    out = git.ask(
        "--literal-pathspecs", "log", "-z", "--no-show-signature", "--no-merges", "--reverse",
        "--topo-order", "--format=%H%x1f%at%x1f%ct%x1f%B", *which, *limit,
    )  # fmt: skip
    rows = (row.split("\x1f", 3) for row in out.split("\0") if row)
    return [Commit(row[0], int(row[1]), int(row[2]), row[3]) for row in rows]


def change_ids(git: Checkout, which: Iterable[str], *, reverse: bool = False) -> dict[str, str]:
    """Return the id of each commit's change, or of the change that takes it back.

    A commit that changes nothing is left out.
    """
    wanted = "".join(f"{one}\n" for one in which)
    if not wanted:
        return {}
    how = ("-R",) if reverse else ()
    answer = git.run("diff-tree", "--stdin", *_DIFF, *how, given=wanted)
    return _ids(answer.out)


def change_id(git: Checkout, before: str, after: str) -> str:
    """Return the id of the whole change between two commits, `NO_CHANGE` where there is none."""
    return _ids(f"{'0' * 40}\n" + git.ask("diff-tree", *_DIFF, before, after)).get(
        "0" * 40, NO_CHANGE
    )


def _ids(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    current, index = "", ""
    lines: list[str] = []

    def close() -> None:
        if current and lines:
            found[current] = hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()

    for line in text.split("\n"):
        if _COMMIT.fullmatch(line):
            close()
            current, lines = line, []
        elif line.startswith("index "):
            index = line
        elif line.startswith("@@ "):
            lines.append("@@")
        elif line.startswith("Binary files "):
            lines += [line, index]
        elif line:
            lines.append(line)
    close()
    return found
