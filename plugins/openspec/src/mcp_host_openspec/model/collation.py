"""The order in which the reference tool lists names: that of the Unicode root collation.

Only what names of folders are made of is covered: white space, punctuation, digits and letters,
with accents second and case third. Letters of other scripts follow Latin by code point.
"""

import unicodedata
from typing import Final

_MARKS_BEFORE_DIGITS: Final = (
    "\t\n\v\f\r\u0085\u2028\u2029 _-\u2013\u2014,;:!?.\u2026\u00b7'\"\u201c\u00ab"
    "()[]{}\u00a7@*/\\&#%\u2022`^\u00a9\u00ae\u2192+<=>|~"
)
_CURRENCY: Final = "\u00a2$\u00a3\u00a5\u20ac"
_DIGIT, _LETTER, _SYMBOL, _MONEY, _MARK = 4, 5, 2, 3, 1

_STROKE, _LIGATURE = "\u0338", "\u0336"
_TAKEN_APART: Final = str.maketrans(
    {
        "đ": f"d{_STROKE}",
        "ð": f"d{_LIGATURE}",
        "Ð": f"D{_LIGATURE}",
        "ł": f"l{_STROKE}",
        "ø": f"o{_STROKE}",
        "ħ": f"h{_STROKE}",
        "Đ": f"D{_STROKE}",
        "Ł": f"L{_STROKE}",
        "Ø": f"O{_STROKE}",
        "Ħ": f"H{_STROKE}",
        "ß": f"s{_LIGATURE}s",
        "æ": f"a{_LIGATURE}e",
        "Æ": f"A{_LIGATURE}E",
        "œ": f"o{_LIGATURE}e",
        "Œ": f"O{_LIGATURE}E",
    }
)
"""Letters that sort as others with an accent, though Unicode does not decompose them."""

_ACCENTS: Final = (
    "\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304\u0336"
)
_AFTER: Final = {"ı": "i", "þ": "z"}
"""Letters of their own that stand right after another."""

CollationKey = tuple[list[tuple[int, int]], list[int], list[int]]


def collation_key(name: str) -> CollationKey:
    """Sort key: base letters first, then accents, then lower before upper case."""
    if name.isascii():
        places = [_ASCII[character] for character in name]
        return places, [0] * len(name), [int(character.isupper()) for character in name]
    primary: list[tuple[int, int]] = []
    accents: list[int] = []
    cases: list[int] = []
    for character in unicodedata.normalize("NFKD", name.translate(_TAKEN_APART)):
        if unicodedata.combining(character):
            accents.append(_accent(character))
            continue
        for folded in character.lower():
            if not unicodedata.combining(folded):
                primary.append(_primary(folded))
                accents.append(0)
                cases.append(int(character != folded or "ァ" <= character <= "ヶ"))
    return primary, accents, cases


def _accent(mark: str) -> int:
    place = _ACCENTS.find(mark)
    return place + 1 if place >= 0 else ord(mark)


def _primary(character: str) -> tuple[int, int]:
    place = _MARKS_BEFORE_DIGITS.find(character)
    if place >= 0:
        return _MARK, place
    if character in _CURRENCY:
        return _MONEY, _CURRENCY.index(character)
    if character.isdigit():
        return _DIGIT, unicodedata.digit(character)
    if character in _AFTER:
        return _LETTER, 2 * ord(_AFTER[character]) + 1
    if character.isalpha() and character != "ー":
        return _LETTER, 2 * _hiragana(ord(character))
    return _SYMBOL, ord(character)


def _hiragana(code: int) -> int:
    """Katakana sort with hiragana."""
    return code - 0x60 if 0x30A1 <= code <= 0x30F6 else code


_ASCII: Final = {chr(code): _primary(chr(code).lower()) for code in range(128)}
