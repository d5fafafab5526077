"""Finds tools by what somebody wants to do: ranked by SQLite's full-text search, with no model."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WEIGHTS = (5.0, 4.0, 3.0, 2.5, 1.0)
"""Of the columns: the name, the title, the pack, the description, the arguments."""
COLUMNS = ("name", "title", "pack", "description", "arguments")
SYNONYM = 0.5
"""What a word that means about the same counts, beside the word itself."""
BEGINNING = 0.5
"""What a word counts that only begins like the one that is looked for."""
WHOLE = 1.0
COVERED = 1.5
"""How much the share of the words that a tool has adds to its rank."""
WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+|[0-9]+|[^\W\d_]+")
TODO = re.compile(r"\bto-dos?\b", re.IGNORECASE)
MOST_WORDS = 24
STOP = frozenset((  # say nothing of what is wanted
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for",
    "from", "have", "how", "i", "if", "in", "into", "is", "it", "its", "like", "me", "my",
    "need", "of", "on", "or", "our", "please", "so", "some", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "up", "want", "was", "we", "what",
    "when", "where", "which", "who", "will", "with", "would", "you", "your", "all", "out",
    "about", "using", "use", "let", "lets", "s", "t", "am", "just", "now", "should", "give",
    "tell",
))  # fmt: skip
ALIKE: Sequence[Sequence[str]] = (
    (
        "create",
        "add",
        "new",
        "make",
        "insert",
        "append",
        "write",
        "start",
        "open",
        "remember",
        "put",
    ),
    ("delete", "remove", "drop", "erase", "discard", "clear", "purge", "trash"),
    ("list", "show", "display", "view", "see", "enumerate", "browse", "overview"),
    ("get", "read", "fetch", "retrieve", "load", "look", "details", "inspect", "show"),
    ("search", "find", "query", "lookup", "locate", "grep", "filter", "match"),
    ("update", "edit", "change", "modify", "set", "alter", "rename", "patch", "adjust"),
    ("send", "post", "submit", "publish", "deliver", "push", "email", "message"),
    ("complete", "finish", "done", "close", "resolve", "end", "tick"),
    ("run", "execute", "start", "launch", "invoke", "call", "trigger"),
    ("check", "validate", "verify", "test", "lint", "inspect"),
    ("issue", "ticket", "bug", "task", "todo", "item", "work"),
    ("file", "document", "path", "folder", "directory"),
    ("repository", "repo", "project", "workspace"),
    ("pr", "merge", "pull", "review"),
    ("person", "user", "member", "people", "assignee", "assigned", "account", "team"),
    ("move", "transfer", "relocate", "copy"),
    ("stop", "cancel", "abort", "terminate", "kill"),
    ("undo", "revert", "restore", "rollback"),
    ("picture", "image", "photo", "screenshot"),
    ("web", "page", "site", "url", "website", "link"),
    ("db", "database", "table", "sql"),
    ("event", "meeting", "calendar", "appointment"),
    ("weather", "forecast", "temperature"),
    ("time", "clock", "date", "timezone", "hour"),
    ("money", "price", "cost", "payment", "invoice"),
    ("state", "status", "progress", "health"),
    ("archive", "store", "save", "keep"),
    ("label", "tag", "category"),
    ("comment", "reply", "note", "remark"),
)


class Index:
    """The tools that are searched, as their lists have them; may be used in any thread."""

    def __init__(self, tools: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Take in tools, each with the pack that it is of."""
        import sqlite3  # a host that nobody searches starts without

        self._lock = threading.Lock()
        self._texts = [_texts(pack, tool) for pack, tool in tools]
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            f"CREATE VIRTUAL TABLE tools USING fts5({', '.join(COLUMNS)}, "
            "tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._database.executemany(
            f"INSERT INTO tools(rowid, {', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own names
            ((number, *texts) for number, texts in enumerate(self._texts)),
        )

    def rank(self, query: str) -> list[int]:
        """Return the places of the tools that fit, best first."""
        words = _wanted(query)
        if not words:
            return []
        scores: defaultdict[int, float] = defaultdict(float)
        covered: defaultdict[int, float] = defaultdict(float)
        with self._lock:
            for word in words:
                best: dict[int, float] = {}
                for match, share in _matches(word):
                    for number, score in self._scores(match):
                        best[number] = max(best.get(number, 0.0), share * score)
                highest = max(best.values(), default=1.0)
                for number, score in best.items():
                    scores[number] += score
                    covered[number] += min(1.0, score / highest)
        for number in scores:
            scores[number] *= 1 + COVERED * covered[number] / len(words)
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _scores(self, match: str) -> Iterator[tuple[int, float]]:
        weights = ", ".join(map(str, WEIGHTS))
        rows = self._database.execute(
            f"SELECT rowid, -bm25(tools, {weights}) FROM tools WHERE tools MATCH ?",  # noqa: S608 - our own numbers
            (match,),
        )
        return iter(rows.fetchall())


def _matches(word: str) -> Iterator[tuple[str, float]]:
    """What a word is looked for as, with how much each counts."""
    yield f'"{word}"', WHOLE
    if len(word) > 3:
        yield f'"{word}"*', BEGINNING
    others = sorted({other for group in ALIKE if word in group for other in group} - {word})
    if others:
        yield " OR ".join(f'"{other}"' for other in others), SYNONYM


def _wanted(query: str) -> list[str]:
    words = dict.fromkeys(_words(query))
    telling = [word for word in words if word not in STOP]
    return (telling or list(words))[:MOST_WORDS]


def _words(text: str) -> list[str]:
    """The words of a text or a name: `createPullRequest` and `create_pull_request` have three."""
    return [word.lower() for word in WORD.findall(_joined(text))]


def _joined(text: str) -> str:
    """A text in which a to-do is one word: the two are of those that say nothing."""
    return TODO.sub("todo", text)


def _texts(pack: str, tool: Mapping[str, Any]) -> tuple[str, ...]:
    schema = tool.get("inputSchema", {})
    arguments = [
        f"{' '.join(_words(name))} {of.get('description', '') if isinstance(of, dict) else ''}"
        for name, of in schema.get("properties", {}).items()
    ]
    own = tool["name"].removeprefix(f"{pack}_").removeprefix(f"{pack}-")
    return (
        " ".join(_words(own)),
        _joined(str(tool.get("title", ""))),
        " ".join(_words(pack)),
        _joined(str(tool.get("description", ""))),
        _joined(" ".join(arguments)),
    )
