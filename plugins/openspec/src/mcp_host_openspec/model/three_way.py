"""Merging two edits of one text, line by line and requirement by requirement.

Lines merge as `git merge-file` merges them: an edit of one side is taken, the same edit of both is
taken once, and edits that overlap or touch are a conflict. Scenarios merge by name, so that two
sides may each add one in the same place.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .requirements import BODY, Block, Section, sections_of

_MOST_EDITS: Final = 1000


class Conflict(NamedTuple):
    """A part of a requirement that both sides edited, each in its own way."""

    part: str
    """The requirement's own text, or a scenario by its name."""
    ours: str
    theirs: str


class _Edit(NamedTuple):
    """Lines `begin` to `end` of the base become the lines `new_begin` to `new_end`."""

    begin: int
    end: int
    new_begin: int
    new_end: int


def merge_lines(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> list[str] | None:
    """Both edits in one text; None where they conflict."""
    merged: list[str] = []
    at = 0
    for mine, other in _groups(_edits(base, ours), _edits(base, theirs)):
        begin = min(edit.begin for edit in (*mine, *other))
        end = max(edit.end for edit in (*mine, *other))
        merged += base[at:begin]
        at = end
        if not other:
            merged += _side(ours, mine, begin, end)
        elif not mine or _side(ours, mine, begin, end) == _side(theirs, other, begin, end):
            merged += _side(theirs, other, begin, end)
        else:
            return None
    return [*merged, *base[at:]]


def merge_blocks(base: Block, ours: Block, theirs: Block) -> Block | list[Conflict]:
    """Both edits of a requirement, under the heading of `theirs`; or the parts that conflict.

    Scenarios stand in the order of `ours`, or of `theirs` where only they moved some.
    """
    bases, mine, others = (sections_of(block) for block in (base, ours, theirs))
    merged: dict[Section, str] = {}
    conflicts: list[Conflict] = []
    for key in _order(list(bases), list(mine), list(others)):
        text = _merged(bases.get(key), mine.get(key), others.get(key))
        if isinstance(text, Conflict):
            conflicts.append(Conflict(key.name or theirs.name, text.ours, text.theirs))
        elif text is not None:
            merged[key] = text
    if conflicts:
        return conflicts
    return Block(theirs.name, _joined(theirs.heading, merged), theirs.line)


def _merged(base: str | None, ours: str | None, theirs: str | None) -> str | Conflict | None:
    """One part of a requirement; None where it goes."""
    if ours == theirs or base == theirs:
        return ours
    if base == ours:
        return theirs
    if ours is not None and theirs is not None:
        lines = merge_lines((base or "").split("\n"), ours.split("\n"), theirs.split("\n"))
        if lines is not None:
            return "\n".join(lines)
    return Conflict("", ours or "", theirs or "")


def _order(base: list[Section], ours: list[Section], theirs: list[Section]) -> list[Section]:
    """All parts in one order: that of one side, with what the other has put in after its own."""
    first, second = (theirs, ours) if _common(base, ours) == _common(ours, base) else (ours, theirs)
    order = list(first)
    for index, key in enumerate(second):
        if key in order:
            continue
        above = next((k for k in reversed(second[:index]) if k in order), None)
        order.insert(0 if above is None else order.index(above) + 1, key)
    return order + [key for key in base if key not in order]


def _common(these: list[Section], those: list[Section]) -> list[Section]:
    return [key for key in these if key in those]


def _joined(heading: str, parts: dict[Section, str]) -> str:
    text = parts.pop(BODY, "")
    return "\n\n".join([f"{heading}\n{text}" if text else heading, *parts.values()])


def _groups(ours: list[_Edit], theirs: list[_Edit]) -> Iterator[tuple[list[_Edit], list[_Edit]]]:
    """The edits of both sides, those that overlap or touch together."""
    mine, other = list(ours), list(theirs)
    while mine or other:
        group: tuple[list[_Edit], list[_Edit]] = ([], [])
        source = 0 if not other or (mine and mine[0].begin <= other[0].begin) else 1
        group[source].append((mine, other)[source].pop(0))
        end = group[source][0].end
        while True:
            if mine and mine[0].begin <= end:
                edit, side = mine.pop(0), 0
            elif other and other[0].begin <= end:
                edit, side = other.pop(0), 1
            else:
                break
            group[side].append(edit)
            end = max(end, edit.end)
        yield group


def _side(lines: Sequence[str], edits: list[_Edit], begin: int, end: int) -> Sequence[str]:
    """What one side makes of the base's lines from `begin` to `end`."""
    first, last = edits[0], edits[-1]
    return lines[first.new_begin - (first.begin - begin) : last.new_end + (end - last.end)]


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    """The fewest edits that make one text the other, each as far down as it goes."""
    removed, added = _changed(old, new)
    edits = []
    i = j = 0
    while i < len(old) or j < len(new):
        begin, new_begin = i, j
        while i < len(old) and removed[i]:
            i += 1
        while j < len(new) and added[j]:
            j += 1
        if i > begin or j > new_begin:
            edits.append(_Edit(begin, i, new_begin, j))
        else:
            i, j = i + 1, j + 1
    return edits


def _changed(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Which lines go and which come: all but a longest common subsequence."""
    removed, added = [True] * len(old), [True] * len(new)
    for i, j in _matches(old, new):
        removed[i] = added[j] = False
    _slide(old, removed)
    _slide(new, added)
    return removed, added


def _slide(lines: Sequence[str], changed: list[bool]) -> None:
    """Move each run of changed lines down while the text stays the same, as git does."""
    index = len(lines) - 1
    while index >= 0:
        if not changed[index]:
            index -= 1
            continue
        end = index + 1
        begin = index
        while begin > 0 and changed[begin - 1]:
            begin -= 1
        index = begin - 1
        while end < len(lines) and not changed[end] and lines[begin] == lines[end]:
            changed[begin], changed[end] = False, True
            begin, end = begin + 1, end + 1
            while end < len(lines) and changed[end]:
                end += 1


def _matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs of lines of a longest common subsequence (Myers, 1986).

    None where the texts have next to nothing in common, which would take too long to say exactly.
    """
    furthest = {1: 0}
    traces: list[dict[int, int]] = []
    for depth in range(min(len(old) + len(new), _MOST_EDITS) + 1):
        traces.append(dict(furthest))
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[k] = x
            if x >= len(old) and y >= len(new):
                return _walk_back(traces, len(old), len(new))
    return iter(())


def _walk_back(traces: list[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    for depth in range(len(traces) - 1, -1, -1):
        furthest = traces[depth]
        k = x - y
        down = k == -depth or (k != depth and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
        before = k + 1 if down else k - 1
        before_x = furthest.get(before, 0) if depth else 0
        before_y = before_x - before if depth else 0
        while x > before_x and y > before_y:
            x, y = x - 1, y - 1
            yield x, y
        x, y = before_x, before_y
