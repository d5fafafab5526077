"""Words of a text, the same for every store: folded case, no accents, letters and digits only."""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_MARK = "**"


def fold(text: str) -> str:
    """Return the text in the form that is searched: `Crème BRÛLÉE` is `creme brulee`."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in spread if not unicodedata.combining(letter))


def words_of(text: str) -> list[str]:
    """Return the folded words in their order, each once."""
    return list(dict.fromkeys(_WORD.findall(fold(text))))


def snippet(text: str, words: tuple[str, ...], width: int = 90) -> str | None:
    """Return the surroundings of the first match with every match between `**`, or None."""
    matches = [
        match
        for match in re.finditer(r"[^\W_]+", text)
        if any(_matches(piece, words) for piece in _WORD.findall(fold(match.group())))
    ]
    if not matches:
        return None
    start = max(0, matches[0].start() - width // 3)
    end = min(len(text), start + width)
    parts: list[str] = ["…"] if start else []
    position = start
    for match in matches:
        if match.end() > end:
            break
        parts += [text[position : match.start()], _MARK, match.group(), _MARK]
        position = match.end()
    parts += [text[position:end], "…" if end < len(text) else ""]
    return " ".join("".join(parts).split())


def _matches(piece: str, words: tuple[str, ...]) -> bool:
    return any(piece.startswith(word) for word in words)
