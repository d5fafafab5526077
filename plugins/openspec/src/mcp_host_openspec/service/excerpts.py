"""What `show` answers to a model: nothing twice, and all that fits; else a share of each text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import NotFoundError
from ..model.spec import Requirement, SpecDocument
from . import shapes
from .budget import Answer, fits, list_page, shared_out, size, text_page

if TYPE_CHECKING:
    from .views import ChangeView, DeltaEntry

_ROOM: Final = 18_000
"""What the texts of an answer share with its outline."""
_OUTLINE: Final = 4_000
_MOST_TEXTS: Final = 30
_MARK: Final = 120


def change_in_budget(view: ChangeView, tool: str) -> Answer:
    """A change: its texts, and an outline of its deltas, which stand in `specDeltas` in full."""
    answer: Answer = {
        "id": view.id,
        "title": view.title,
        "deltaCount": len(view.deltas),
        "deltas": [_entry(entry) for entry in view.deltas],
        "progress": shapes.progress(view.progress),
        "files": list(view.files),
        **_texts(view),
        "specDeltas": [_delta(*item) for item in view.spec_deltas.items()],
        **shapes.problems(view),
    }
    if fits(answer):
        return answer
    more: list[Answer] = []
    answer["deltas"] = _first("deltas", answer["deltas"], more)
    shown = dict(list(view.spec_deltas.items())[:_MOST_TEXTS])
    if len(shown) < len(view.spec_deltas):
        left = list(view.spec_deltas)[_MOST_TEXTS:]
        more.append({"part": "specs", "total": len(view.spec_deltas), "cursor": str(_MOST_TEXTS)})
        more[-1]["next"] = left[0]
    whole = {**_texts(view), **{f"specs/{name}": text for name, text in shown.items()}}
    cut = _cut({key: text for key, text in whole.items() if text}, answer, tool, more)
    answer |= {key: cut.get(key, text) for key, text in _texts(view).items()}
    answer["specDeltas"] = [_delta(name, cut[f"specs/{name}"]) for name in shown]
    return {**answer, "truncated": True, "more": more}


def change_part(view: ChangeView, part: str, cursor: str | None) -> Answer:
    """One page of one part of a change: a text, the list of deltas, or the deltas of one spec."""
    texts = {
        **{key: text for key, text in _texts(view).items() if text is not None},
        **{f"specs/{name}": text for name, text in view.spec_deltas.items()},
    }
    if part in texts:
        return {"part": part, **shapes.page("content", text_page(texts[part], cursor))}
    if part == "deltas":
        entries = [_entry(entry) for entry in view.deltas]
        return {"part": part, **shapes.page("deltas", list_page(entries, cursor))}
    if part == "specs":
        names = [{"part": f"specs/{name}", "characters": len(t)} for name, t in texts.items()]
        rows = [row for row in names if str(row["part"]).startswith("specs/")]
        return {"part": part, **shapes.page("specs", list_page(rows, cursor))}
    raise NotFoundError("Part", part, [*texts, "deltas", "specs"][:20])


def spec_in_budget(capability: str, spec: SpecDocument, tool: str) -> Answer:
    """A spec: its text, and an outline of its requirements."""
    content = spec.text.removeprefix("\ufeff")
    answer: Answer = {
        "id": capability,
        "title": capability,
        "overview": spec.purpose,
        "requirementCount": len(spec.requirements),
        "requirements": [_requirement(one) for one in spec.requirements],
        "metadata": {"version": "1.0.0", "format": "openspec"},
        "content": content,
    }
    if fits(answer):
        return answer
    more: list[Answer] = []
    answer["requirements"] = _first("requirements", answer["requirements"], more)
    answer["overview"] = shared_out({"": spec.purpose}, _OUTLINE // 4)[""]
    answer["content"] = ""
    answer["content"] = _cut({"content": content}, answer, tool, more)["content"]
    return {**answer, "truncated": True, "more": more}


def spec_part(spec: SpecDocument, part: str, cursor: str | None) -> Answer:
    """One page of one part of a spec: its text, the outline, or a requirement by its name."""
    if part == "content":
        page = text_page(spec.text.removeprefix("\ufeff"), cursor)
        return {"part": part, **shapes.page("content", page)}
    if part == "requirements":
        rows = [_requirement(one) for one in spec.requirements]
        return {"part": part, **shapes.page("requirements", list_page(rows, cursor))}
    if part in spec.blocks:
        page = text_page(spec.blocks[part].raw, cursor)
        return {"part": part, **shapes.page("content", page)}
    raise NotFoundError("Part", part, ["content", "requirements", *spec.blocks][:20])


def _texts(view: ChangeView) -> dict[str, str | None]:
    return {"proposal": view.proposal, "tasks": view.tasks, "design": view.design}


def _entry(entry: DeltaEntry) -> Answer:
    """One operation by its names; its text stands in the delta file."""
    data: Answer = {"spec": entry.capability, "operation": entry.operation}
    if entry.name:
        data["name"] = entry.name
    else:
        data["description"] = entry.description  # guessed from the proposal, in no delta file
    if entry.requirement is not None:
        data["scenarios"] = [{"name": one.name} for one in entry.requirement.scenarios]
    if entry.rename is not None:
        data["rename"] = {"from": entry.rename[0], "to": entry.rename[1]}
    return data


def _requirement(shown: Requirement) -> Answer:
    return {"name": shown.name, "scenarios": [{"name": one.name} for one in shown.scenarios]}


def _delta(capability: str, text: str) -> Answer:
    return {"capability": capability, "content": text}


def _first(part: str, rows: list[Any], more: list[Answer]) -> list[Any]:
    """The first rows of an outline; `more` says how to read on."""
    page = list_page(rows, None, room=_OUTLINE)
    if page.next_cursor is not None:
        more.append({"part": part, "total": page.total, "cursor": page.next_cursor})
    rows_shown: list[Any] = page.content
    return rows_shown


def _cut(texts: dict[str, str], answer: Answer, tool: str, more: list[Answer]) -> dict[str, str]:
    """The texts cut to what room there is, each with a mark; `more` says how to read on."""
    others = {key: value for key, value in answer.items() if key not in ("specDeltas", *texts)}
    room = _ROOM - size(others) - 2 * _MARK * len(texts)
    cut = shared_out(texts, room)
    for key, text in texts.items():
        if len(cut[key]) == len(text):
            continue
        more.append({"part": key, "total": len(text), "cursor": str(len(cut[key]))})
        cut[key] += f"\n[{len(cut[key]):,} of {len(text):,} characters; {tool} part='{key}']"
    return cut
