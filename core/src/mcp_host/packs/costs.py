"""What the lists cost a model before its first word, in tokens, pack by pack."""

from __future__ import annotations

from ..startup.dataclass import dataclass
from .entry import LISTS
from .inventory import Inventory
from .naming import Naming
from .tokens import Counter, as_sent, counter


@dataclass(frozen=True)
class Cost:
    """What one entry of a pack's lists costs; for its instructions, `kind` and `name` say so."""

    pack: str
    kind: str
    name: str
    tokens: int


def costs(inventory: Inventory, tokens: Counter) -> list[Cost]:
    """Return what every entry costs that a client sees, pack by pack."""
    found = []
    for name, pack in inventory.packs.items():
        declared = pack.declared
        if declared is None or not pack.condition.listed:
            continue
        if declared.instructions:
            naming = Naming(declared, inventory.alone is None)
            text = naming.resolve(declared.instructions)
            found.append(Cost(name, "instructions", "instructions", tokens.count(text)))
        for what in LISTS:
            found += [
                Cost(name, what, entry.listed["name"], tokens.count(as_sent(entry.listed)))
                for entry in inventory.lists.entries(what)
                if entry.pack == name
            ]
    return found


def over_budget(inventory: Inventory) -> str:
    """Say that the lists cost more than the settings allow; empty where they do not."""
    budget = inventory.settings.host.token_budget
    if budget is None:
        return ""
    tokens = counter()
    spent = sum(cost.tokens for cost in costs(inventory, tokens))
    if spent <= budget:
        return ""
    return (
        f"the lists cost {spent:,} tokens ({tokens.by}), over the {budget:,} of [host] "
        "token_budget; `mcp-host tokens` says which pack costs what"
    )
