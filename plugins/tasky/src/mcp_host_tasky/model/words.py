"""Words of a text, the same for every store: folded case, no accents, letters and digits only."""

import re
import unicodedata
from functools import cache, lru_cache

_WORD = re.compile(r"[^\W_]+")
_MARK = "**"
_BLOCK = 2_000
SHORTEST_PREFIX = 3
"""A shorter word matches only itself: too much begins with one or two letters."""
_TOLD = 8
"""So many letters of a word are looked for before it is compared as a whole: where words are put
together from others, many begin alike."""


def fold(text: str) -> str:
    """Return the text in the form that is searched: `Crème BRÛLÉE` is `creme brulee`."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text).casefold()
    spread = _accents().sub("", spread)
    if len(spread.encode("utf-16-le", "surrogatepass")) > 2 * len(spread):
        for accent in filter(unicodedata.combining, set(_BEYOND.findall(spread))):
            spread = spread.replace(accent, "")
    return spread


_BEYOND = re.compile("[\U00010000-\U0010ffff]")
"""Emoji, and letters of scripts that few write: in the set of accents they would slow it down."""


@cache
def _accents() -> re.Pattern[str]:
    """Return what finds accents: asking of each letter in Python takes four times as long."""
    letters = map(chr, range(0x300, 0x10000))
    return re.compile(f"[{''.join(filter(unicodedata.combining, letters))}]")


def words_of(text: str) -> list[str]:
    """Return the folded words in their order, each once."""
    return list(dict.fromkeys(_cut(fold(text))))


def _cut(folded: str) -> list[str]:
    """Return the words of a folded text, which is what `_WORD` finds in it, in a fourth of the
    time: a text can be long."""
    if folded.isascii():
        return folded.translate(_SPACED).split()
    for sign in set(folded):
        if not sign.isalnum():
            folded = folded.replace(sign, " ")
    return folded.split()


_SPACED = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))
"""What stands for each ASCII character in `_cut`: a space for all that is no part of a word."""


def snippet(text: str, words: tuple[str, ...], width: int = 90) -> str | None:
    """Return the surroundings of the first match with every match between `**`, or None.

    A long text is searched as a whole, not word by word: that would take longer than the search.
    """
    first = _first_match(text, words)
    if first is None:
        return None
    start = max(0, first - width // 3)
    end = min(len(text), start + width)
    parts: list[str] = ["…"] if start else []
    position = start
    for match in _WORD.finditer(text, first):
        if match.end() > end:
            break
        if _is_match(match.group(), words):
            parts += [text[position : match.start()], _MARK, match.group(), _MARK]
            position = match.end()
    parts += [text[position:end], "…" if end < len(text) else ""]
    return " ".join("".join(parts).split())


def _first_match(text: str, words: tuple[str, ...]) -> int | None:
    """Return where a word of the text begins that one of the words is the beginning of."""
    if text.isascii():
        small = text.lower()
        starts = [at for word in words if (at := first_beginning(small, word)) >= 0]
        return min(starts, default=None)
    first = _first_form(text, words)
    if first is not None or not _has_other_forms(text, words):
        return first
    for block in re.finditer(rf".{{1,{_BLOCK}}}(?:\s|$)|\S+", text, re.DOTALL):
        folded = fold(block.group())
        if any(first_beginning(folded, word) >= 0 for word in words):
            for match in _WORD.finditer(text, block.start(), block.end()):
                if _is_match(match.group(), words):
                    return match.start()
    return None


def first_beginning(text: str, word: str) -> int:
    """Return where a word of a folded text matches this one, or -1."""
    at = text.find(word)
    while at >= 0 and not _matches_at(text, at, word):
        at = text.find(word, at + 1)
    return at


def _matches_at(text: str, at: int, word: str) -> bool:
    end = at + len(word)
    if text[max(0, at - 1) : at].isalnum():
        return False
    return len(word) >= SHORTEST_PREFIX or not text[end : end + 1].isalnum()


def _first_form(text: str, words: tuple[str, ...]) -> int | None:
    """Return where a word of the text begins like one of the words, in capitals and with accents as
    well. A text can be long: it is looked through in larger and larger parts, for all words."""
    start, size = 0, _BLOCK
    while start < len(text):
        first = start + size
        for word in words:
            first = _first_in(text, word, words, start, first)
        if first < start + size:
            return first
        start, size = start + size, size * 2
    return None


def _first_in(text: str, word: str, words: tuple[str, ...], start: int, end: int) -> int:
    """Return where between two places a word begins like this one, or the second place."""
    _, others = _letters()
    for found in _form(word).finditer(text, start, end + _TOLD):
        at = found.start()
        before = text[max(0, at - 1) : at]
        if at >= end or before.isalnum() or others.match(before):
            continue
        whole = _WORD.match(text, at)
        if whole and _is_match(whole.group(), words):
            return at
    return end


@lru_cache
def _form(word: str) -> re.Pattern[str]:
    """Return what finds how a folded word begins, where each letter stands for one: to fold a long
    text takes ten times as long. It takes long to make, so only the first letters are in it."""
    forms, _ = _letters()
    letters = (re.escape(letter + forms.get(letter, "")) for letter in _composed(word)[:_TOLD])
    return re.compile("".join(f"[{forms_of}]" for forms_of in letters))


def _has_other_forms(text: str, words: tuple[str, ...]) -> bool:
    """Whether something in the text, or in the words, is not one letter for one when folded."""
    _, others = _letters()
    if others.search(text) or any(_composed(word) != word for word in words):
        return True
    return any(fold(sign) != sign for sign in set(_BEYOND.findall(text)))


def _composed(word: str) -> str:
    """Return a folded word with the syllables of Korean, and what else was taken apart, whole."""
    return unicodedata.normalize("NFC", word)


@cache
def _letters() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the letters that are folded to each letter, and what finds those that are folded to
    none or to several. The syllables of Korean are not among them: only Korean words have them."""
    letters = [chr(number) for number in range(0x41, 0x10000) if not 0xAC00 <= number <= 0xD7A3]
    forms: dict[str, str] = {}
    others = []
    for letter, folded in zip(letters, fold("\n".join(letters)).split("\n"), strict=True):
        if len(folded) != 1 or unicodedata.combining(letter):
            others.append(letter)
        elif folded != letter:
            forms[folded] = forms.get(folded, "") + letter
    return forms, re.compile(f"[{re.escape(''.join(others))}]")


def _is_match(word: str, words: tuple[str, ...]) -> bool:
    beginnings, wholes = _parted(words)
    pieces = [word.lower()] if word.isascii() else _pieces(word)
    return any(piece.startswith(beginnings) or piece in wholes for piece in pieces)


@lru_cache
def _parted(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words that others may begin with, and those that match only themselves."""
    short = frozenset(word for word in words if len(word) < SHORTEST_PREFIX)
    return tuple(word for word in words if word not in short), short


@lru_cache(maxsize=10_000)
def _pieces(word: str) -> list[str]:
    """Return what is left of a word when folded; the same few words stand in most texts."""
    return _WORD.findall(fold(word))
