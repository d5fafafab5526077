"""Finds tools by what somebody wants to do: ranked by SQLite's full-text search, with no model."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

HEAD: Mapping[str, float] = {
    "name": 6.0,
    "title": 4.0,
    "pack": 4.0,
    "summary": 3.0,
    "arguments": 1.5,
}
"""What is searched first, with its weight; `summary` is a description's first sentence."""
BODY: Mapping[str, float] = {"description": 1.0, "details": 0.7}
"""The rest of the description, and what is said of the arguments: long in some tools, so that a
word there counts little, and their length nothing in the head."""
BODY_SHARE = 0.3
"""What a word counts in the body, beside the head."""
BEGINNING = 0.5
"""What a word counts that only begins like the one that is looked for."""
ALIKE_WORD = 0.5
"""What a word counts that means about the same."""
LONG_ENOUGH = 5
"""Letters of a word whose beginning is looked for in longer ones."""
FEW = 20
"""Of so few tools, what most of them have still tells of some."""
VERB_WORD = 0.2
"""What a verb counts as a word in a text, where it counts as a verb as well."""
COVERED = 1.5
"""How much the share of the words that a tool has adds to its rank."""
VERB = 0.4
"""How much it adds that a tool does what the words ask for: deletes, lists, sends."""
VERB_ALONE = 0.6
"""What that counts beside the words, of what the best word counts."""
WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[a-z]+|[0-9]+|[^\W\d_]+")
SHAPES: Sequence[tuple[str, re.Pattern[str]]] = (
    ("url", re.compile(r"\bhttps?://|\bwww\.|\b[\w-]+\.(com|org|net|io|dev|edu|gov)\b")),
    ("file", re.compile(r"\b[\w-]+\.(md|txt|pdf|csv|log|toml|ya?ml|json|xml|html|js|ts|py|sh)\b")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+\.\w+")),
)
"""Words for what a query has an example of."""
SPOKEN = re.compile(r"\w+")
NAMED = re.compile(r"[a-z]+[A-Z]")
TODO = re.compile(r"\bto-?dos?( lists?)?\b", re.IGNORECASE)
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
VERBS: Mapping[str, tuple[str, str]] = {
    # What tools are called, and what people say of it beside these.
    "create": (
        "create add new make insert append",
        "another book compose draft jot log open plan put raise record register remember remind "
        "report save schedule write generate submit start build",
    ),
    "delete": (
        "delete remove drop erase discard clear purge trash destroy",
        "cancel scrap throw kill",
    ),
    "list": ("list enumerate", "browse overview show which every all display see view names"),
    "read": (
        "get read fetch retrieve load show view describe inspect info",
        "see display open print download full whole details check say contain",
    ),
    "search": ("search find query lookup locate grep filter", "look where which about usages"),
    "update": (
        "update edit change modify set alter patch adjust",
        "correct fix rename reword rewrite amend bulk claim replace",
    ),
    "move": ("move rename relocate transfer", "shift"),
    "send": (
        "send post message notify publish email",
        "announce tell write say deliver drop share inform",
    ),
    "reply": ("reply comment answer respond", "response follow remark note write"),
    "complete": (
        "complete finish close resolve done",
        "tick untick conclude wrap mark end",
    ),
    "start": ("start begin launch", "pick take work kick"),
    "run": ("run execute invoke trigger call", "perform"),
    "validate": ("validate verify check lint test", "mistakes errors wrong valid correct sure"),
    "submit": ("submit push commit publish", "hand send open"),
    "merge": ("merge", "land accept squash rebase"),
    "archive": ("archive store backup", "retire file away finalize"),
    "initialize": ("init initialize setup install bootstrap", "prepare begin start"),
    "click": ("click press tap", "hit push select choose"),
    "navigate": ("navigate goto visit", "go open browse load"),
    "capture": ("screenshot capture snapshot record", "snap picture photograph grab image"),
    "copy": ("copy clone fork duplicate", "own"),
    "refund": ("refund reimburse", "back return reverse undo"),
    "react": ("react reaction", "emoji thumbs like"),
    "explain": ("explain analyze profile", "why"),
    "status": ("status state progress info", "count"),
}
"""What tools do, in words of one meaning each."""
PHRASAL: Sequence[tuple[str, re.Pattern[str]]] = (
    ("complete", re.compile(r"\b(tick|check|cross|mark|strike)(ed)?\b.*\boff\b")),
    ("delete", re.compile(r"\b(take|call|cut|cross)\b.*\boff\b|\brid of\b|\bthrow away\b")),
    ("create", re.compile(r"\b(put|write|note|jot)\b.*\b(down|on|in)\b|\bset up\b|\bfile an?\b")),
    ("initialize", re.compile(r"\bset[ -]?up\b|\bget going\b")),
    ("reply", re.compile(r"\bwrite back\b|\bfollow up\b")),
    ("copy", re.compile(r"\bcopy of\b")),
    ("search", re.compile(r"\blook(ing)? for\b")),
    ("read", re.compile(r"\blook at\b|\bwhat\b.*\b(say|contain|in)")),
    ("list", re.compile(r"\b(what|which)\b.*\b(are|is there|exist|have)\b|\bare there\b")),
    ("status", re.compile(r"\bhow many\b|\bis (the|my)\b|\bhas my\b|\bam i\b")),
)
"""Verbs of two words, and questions."""
ALIKE: Sequence[Sequence[str]] = (
    ("issue", "ticket", "bug", "task", "todo", "item"),
    ("folder", "directory"),
    ("repository", "repo", "repos"),
    ("person", "user", "member", "people", "account"),
    ("picture", "image", "photo", "screenshot"),
    ("page", "site", "website", "web"),
    ("url", "link", "address"),
    ("db", "database", "sql"),
    ("event", "meeting", "calendar", "appointment"),
    ("weather", "forecast", "temperature"),
    ("time", "clock", "timezone"),
    ("money", "price", "payment", "invoice", "charge"),
    ("state", "status", "progress"),
    ("label", "tag", "category"),
    ("comment", "reply", "note", "remark"),
    ("spec", "specification", "specs", "specifications"),
)
SHORT_FOR: Mapping[str, str] = {
    "pr": "pull request",
    "prs": "pull request",
    "mr": "merge request",
    "db": "database",
    "dir": "directory",
    "ci": "ci",
    "config": "configuration",
    "docs": "documentation",
    "env": "environment",
    "auth": "authentication",
    "repo": "repository",
    "repos": "repository",
}


class Index:
    """The tools that are searched, as their lists have them; may be used in any thread."""

    def __init__(
        self,
        tools: Sequence[tuple[str, Mapping[str, Any]]],
        keywords: Callable[[str], Sequence[str]] = lambda pack: (),
    ) -> None:
        """Take in tools, each with the pack that it is of; `keywords` tells those of a pack."""
        import sqlite3  # a host that nobody searches starts without

        self._lock = threading.Lock()
        self._size = len(tools)
        self._doing: defaultdict[str, set[int]] = defaultdict(set)
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        for table, columns in _TABLES:
            self._database.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5({', '.join(columns)}, "
                "tokenize='porter unicode61 remove_diacritics 2')"
            )
        of_packs: dict[str, str] = {}
        for number, (pack, tool) in enumerate(tools):
            if pack not in of_packs:
                of_packs[pack] = " ".join(
                    _words(pack) + [w for k in keywords(pack) for w in _said(k)]
                )
            texts = {**_texts(pack, tool), "pack": of_packs[pack]}
            for table, columns in _TABLES:
                marks = ", ".join("?" * (1 + len(columns)))
                self._database.execute(
                    f"INSERT INTO {table}(rowid, {', '.join(columns)}) VALUES ({marks})",  # noqa: S608 - our own names
                    (number, *(texts[column] for column in columns)),
                )
            first = _words(texts["summary"])[:1]
            for word in (*texts["name"].split(), *first):
                for verb in _TOOLS_DO.get(_stem(word), ()):
                    self._doing[verb].add(number)

    def rank(self, query: str) -> list[int]:
        """Return the places of the tools that fit, best first."""
        words = _wanted(query)
        if not words:
            return []
        scores: defaultdict[int, float] = defaultdict(float)
        covered: defaultdict[int, float] = defaultdict(float)
        highests: list[float] = []
        with self._lock:
            for word in words:
                best = self._best(word)
                if not best:
                    continue
                highest = max(best.values())
                share = VERB_WORD if _stem(word) in _PEOPLE_SAY else 1.0
                highests.append(share * highest)
                for number, score in best.items():
                    scores[number] += share * score
                    covered[number] += score / highest
        asked = _asked(query)
        doing = {number for verb in asked for number in self._doing[verb]}
        alone = VERB_ALONE * max(highests, default=1.0)
        for number in doing:
            scores[number] = (scores[number] + alone) * (1 + VERB)
        for number in scores:
            scores[number] *= 1 + COVERED * covered[number] / len(words)
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _best(self, word: str) -> dict[int, float]:
        """What a word counts in each tool that has it, or one like it, or begins like it.

        A word that most tools have says nothing.
        """
        phrase = SHORT_FOR.get(word, word)
        found = self._scores("head", f'"{phrase}"')
        if len(found) > self._size / 2 and self._size > FEW:
            return {}
        if not found and len(word) >= LONG_ENOUGH:
            found = {
                n: BEGINNING * score for n, score in self._scores("head", f'"{word}"*').items()
            }
        for number, score in self._scores("body", f'"{phrase}"').items():
            found[number] = found.get(number, 0.0) + BODY_SHARE * score
        alike = _ALIKE.get(word)
        if alike is not None:
            for number, score in self._scores("head", alike).items():
                found[number] = max(found.get(number, 0.0), ALIKE_WORD * score)
        return found

    def _scores(self, table: str, match: str) -> dict[int, float]:
        return dict(self._database.execute(_SELECT[table], (match,)).fetchall())


_TABLES = (("head", HEAD), ("body", BODY))


_SELECT = {
    table: f"SELECT rowid, -bm25({table}, {', '.join(map(str, columns.values()))}) "  # noqa: S608 - our own names
    f"FROM {table} WHERE {table} MATCH ?"
    for table, columns in _TABLES
}
_ALIKE = {
    word: " OR ".join(f'"{other}"' for other in group if other != word)
    for group in ALIKE
    for word in group
}


def _asked(query: str) -> set[str]:
    """What a query wants done."""
    asked = {verb for word in _said(query) for verb in _PEOPLE_SAY.get(_stem(word), ())}
    return asked | {verb for verb, said in PHRASAL if said.search(query.lower())}


def _stem(word: str) -> str:
    """A word without the ending of its form, as far as verbs need that."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word.removesuffix("e")


def _by_word(texts: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for verb, words in texts:
        for word in words.split():
            found[_stem(word)] += (verb,)
    return dict(found)


_TOOLS_DO = _by_word((verb, tools) for verb, (tools, _) in VERBS.items())
_PEOPLE_SAY = _by_word((verb, f"{tools} {people}") for verb, (tools, people) in VERBS.items())


def _wanted(query: str) -> list[str]:
    words = dict.fromkeys(_said(query))
    words |= dict.fromkeys(word for word, shape in SHAPES if shape.search(query))
    telling = [word for word in words if word not in STOP]
    return (telling or list(words))[:MOST_WORDS]


def _said(query: str) -> list[str]:
    """The words of a query; of a name in it, as `createIssue` or `create_issue`, its parts."""
    words: list[str] = []
    for word in SPOKEN.findall(_joined(query)):
        words += _words(word) if "_" in word or NAMED.match(word) else [word.lower()]
    return words


def _words(text: str) -> list[str]:
    """The words of a text or a name: `createPullRequest` and `create_pull_request` have three."""
    return [word.lower() for word in WORD.findall(_joined(text))]


def _joined(text: str) -> str:
    """A text in which a to-do is one word: the two are of those that say nothing."""
    return TODO.sub("todo", text)


def _texts(pack: str, tool: Mapping[str, Any]) -> dict[str, str]:
    """What each column has of a tool."""
    properties: Mapping[str, Any] = tool.get("inputSchema", {}).get("properties", {})
    described = [str(of.get("description", "")) for of in properties.values() if type(of) is dict]
    own = tool["name"].removeprefix(f"{pack}_").removeprefix(f"{pack}-")
    summary, _, rest = _joined(str(tool.get("description", ""))).strip().partition("\n")
    first, dot, more = summary.partition(". ")
    return {
        "name": " ".join(_words(own)),
        "title": _joined(str(tool.get("title", ""))),
        "summary": first + dot,
        "arguments": " ".join(word for name in properties for word in _words(name)),
        "description": f"{more} {rest}",
        "details": _joined(" ".join(described)),
    }
