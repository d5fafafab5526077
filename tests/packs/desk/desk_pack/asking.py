"""Tools that ask a person, a model or the client's roots before their body runs."""

from typing import Annotated, Any, Literal

from mcp_host import Answer, Ask, Form, Roots, Sample, prompt, tool
from pydantic import BaseModel, Field


class Address(BaseModel):
    street: str
    number: Annotated[int, Field(ge=1)]
    kind: Literal["home", "work"] = "home"


@tool(destructive=True)
async def shred(
    desk: "Desk",  # noqa: F821 - never evaluated
    /,
    ids: list[str],
    sure: Annotated[bool, Ask("Shred {ids}?")],
) -> str:
    """Shred papers, once somebody agrees."""
    desk.runs["shred"] += 1
    return f"shredded {len(ids)}" if sure else "kept"


@tool
async def rename(
    desk: "Desk",  # noqa: F821
    /,
    old: str,
    new: Annotated[str, Ask("What shall {old} be called?")],
    why: Annotated[str | None, Ask("Why is {old} now {new}?")],
) -> list[str | None]:
    """Rename a paper: the second question is made of the first answer."""
    desk.runs["rename"] += 1
    return [old, new, why]


@tool
async def post(
    desk: "Desk",  # noqa: F821
    /,
    address: Annotated[Answer[Address], Ask("Where to?")],
) -> dict[str, Any]:
    """Post a letter; a refusal is an answer as well."""
    desk.runs["post"] += 1
    value = address.value
    return {"action": address.action, "street": value.street if value else None}


def many(ids: list[str]) -> Any:
    return True if len(ids) < 2 else Form(f"Really burn {len(ids)}?", bool)


def witness(ids: list[str], sure: bool) -> Any:
    return Form(f"Who saw {len(ids)} burn, when it was {sure}?", str)


@tool
def burn(
    ids: list[str],
    sure: Annotated[bool, Ask(many)],
    seen_by: Annotated[str | None, Ask(witness)],
) -> str:
    """Burn papers; asks only where there are several."""
    return f"burnt {ids} {sure} {seen_by}"


@tool
def summarise(
    text: str,
    summary: Annotated[str, Ask(lambda text: Sample(f"Sum up: {text}", max_tokens=9))],
    folders: Annotated[list, Ask(Roots())],
) -> dict[str, Any]:
    """Have the client's model sum up, and tell where the client works."""
    return {"summary": summary, "folders": [root.uri for root in folders]}


@tool
async def pester(
    desk: "Desk",  # noqa: F821
    /,
    said: Annotated[str, Ask(lambda pestering: Form(pestering, str))],
    pestering: Annotated[str, Ask(lambda: "never asked")],
) -> str:
    """Ask what is not asked first."""
    return f"{said} {pestering}"


@tool
def note(text: str, mood: Annotated[str | None, Ask("In which mood?")]) -> str:
    """Note something, with a mood where somebody can be asked for one."""
    return f"{text} ({mood})"


class Counter:
    """A question that is another one each time."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> Form[str]:
        self.count += 1
        return Form(f"Question number {self.count}?", str)


@tool
async def nag(answer: Annotated[str, Ask(Counter())]) -> str:
    """Ask something new each time."""
    return answer


@prompt
def letter(to: str, tone: Annotated[str, Ask("In which tone to {to}?")]) -> str:
    """Write a letter in a tone that somebody chooses."""
    return f"Dear {to}, {tone} yours"


TOOLS = [shred, rename, post, burn, summarise, pester, note, nag]
