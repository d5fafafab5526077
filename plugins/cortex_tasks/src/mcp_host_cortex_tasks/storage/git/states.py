"""What git tells of a working tree, read from its machine-readable formats."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class State:
    """A working tree at one moment, as `git status` has it. Paths are relative to its root.

    `changed` has every tracked file that differs from HEAD, `staged` those that differ in the
    index, and `unstaged` those that differ from the index.

    Invariants: it never changes. What is `staged`, `unstaged` or `deleted` is `changed` as well; no
    path is both `changed` and `untracked` or `conflicted`. Without an `upstream`, `ahead` and
    `behind` are 0.
    """

    head: str | None
    branch: str | None
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    deleted: tuple[str, ...] = field(default=())
    staged: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worktree:
    """One working tree of the repository; `gone` when its folder was deleted by hand."""

    path: Path
    branch: str | None
    gone: bool = False
    locked: bool = False


def parse_status(out: str) -> State:
    """Return a tree's state from `git status --porcelain=v2 -z --branch`."""
    head: dict[str, str] = {}
    changed: list[str] = []
    untracked: list[str] = []
    conflicted: list[str] = []
    deleted: list[str] = []
    staged: list[str] = []
    unstaged: list[str] = []
    parts = iter(out.split("\0"))
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            head[name] = value
        elif kind == "?":
            untracked.append(rest)
        elif kind == "u":
            conflicted.append(rest.split(" ", 9)[9])
        elif kind in ("1", "2"):
            path = rest.split(" ", 7 if kind == "1" else 8)[-1]
            changed.append(path)
            staged += [path] if rest[0] != "." else []
            unstaged += [path] if rest[1] != "." else []
            if "D" in rest[:2]:
                deleted.append(path)
            if kind == "2":
                next(parts, "")  # the name it had before
    ahead, behind = (abs(int(n)) for n in head.get("branch.ab", "+0 -0").split())
    branch = head.get("branch.head", "(detached)")
    commit = head.get("branch.oid", "(initial)")
    return State(
        head=None if commit == "(initial)" else commit,
        branch=None if branch == "(detached)" else branch,
        upstream=head.get("branch.upstream"),
        ahead=ahead,
        behind=behind,
        changed=tuple(changed),
        untracked=tuple(untracked),
        conflicted=tuple(conflicted),
        deleted=tuple(deleted),
        staged=tuple(staged),
        unstaged=tuple(unstaged),
    )


def parse_worktree(block: str) -> Worktree:
    """Return one working tree from a block of `git worktree list --porcelain -z`."""
    facts = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
    branch = facts.get("branch")
    return Worktree(
        path=Path(facts["worktree"]),
        branch=branch.removeprefix("refs/heads/") if branch else None,
        gone="prunable" in facts or not Path(facts["worktree"]).exists(),
        locked="locked" in facts,
    )
