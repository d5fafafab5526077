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

CollationKey = tuple[list[tuple[int, int]], list[int], list[int]]


def collation_key(name: str) -> CollationKey:
    """Sort key: base letters first, then accents, then lower before upper case."""
    if name.isascii():
        places = [_ASCII[character] for character in name]
        return places, [], [int(character.isupper()) for character in name]
    primary: list[tuple[int, int]] = []
    accents: list[int] = []
    cases: list[int] = []
    for character in unicodedata.normalize("NFKD", name.replace("ß", "ss").replace("æ", "ae")):
        if unicodedata.combining(character):
            accents.append(ord(character))
            continue
        for folded in character.lower():
            primary.append(_primary(folded))
            accents.append(0)
            cases.append(int(character != folded))
    return primary, accents, cases


def _primary(character: str) -> tuple[int, int]:
    place = _MARKS_BEFORE_DIGITS.find(character)
    if place >= 0:
        return _MARK, place
    if character in _CURRENCY:
        return _MONEY, _CURRENCY.index(character)
    if character.isdigit():
        return _DIGIT, unicodedata.digit(character)
    if character.isalpha():
        return _LETTER, ord(character)
    return _SYMBOL, ord(character)


_ASCII: Final = {chr(code): _primary(chr(code).lower()) for code in range(128)}
