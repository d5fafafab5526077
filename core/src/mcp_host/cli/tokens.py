"""`mcp-host tokens`: what the lists cost a model before its first word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..errors import SettingsError
from ..packs.costs import Cost, costs, over_budget
from ..packs.tokens import counter
from .common import ConfigOption, JsonOption, Output, chosen_settings, loaded, quiet_logs, say
from .completion import installed_packs

KINDS = ("tools", "resources", "resourceTemplates", "prompts", "instructions")
COLUMNS = ("PACK", "TOOLS", "RESOURCES", "TEMPLATES", "PROMPTS", "INSTRUCTIONS", "TOKENS")


def tokens(
    pack: Annotated[
        str | None,
        typer.Argument(
            help="A pack, for what each of its entries costs.",
            show_default=False,
            autocompletion=installed_packs,
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how many tokens the lists cost a model before its first word, pack by pack.

    Clients differ in what they give to a model: all give it the tools, few the other lists.
    """
    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "warning")
    inventory = loaded(settings)
    if pack is not None and pack not in inventory.packs:
        known = ", ".join(settings.packs) or "none"
        raise SettingsError(f"there is no pack '{pack}'; packs are: {known}")
    counted = counter()
    found = [cost for cost in costs(inventory, counted) if pack in (None, cost.pack)]
    whole = sum(cost.tokens for cost in found)
    if as_json:
        output.json(
            {
                "tokens": whole,
                "by": counted.by,
                "budget": settings.host.token_budget,
                "entries": [vars(cost) for cost in found],
            }
        )
        return
    if pack is None:
        output.table(COLUMNS, _by_pack(found), "no lists; `mcp-host packs` says why")
    else:
        rows = [(cost.name, cost.kind, f"{cost.tokens:,}") for cost in _dearest_first(found)]
        output.table(("NAME", "LIST", "TOKENS"), rows, f"{pack} shows nothing")
    output.text(f"{whole:,} tokens, {counted.by}")
    if warning := over_budget(inventory):
        say(f"warning: {warning}")


def _by_pack(found: Sequence[Cost]) -> list[list[str]]:
    spent: dict[str, dict[str, int]] = {}
    for cost in found:
        of_pack = spent.setdefault(cost.pack, dict.fromkeys(KINDS, 0))
        of_pack[cost.kind] += cost.tokens
    return [
        [name, *map(_number, of_pack.values()), f"{sum(of_pack.values()):,}"]
        for name, of_pack in spent.items()
    ]


def _dearest_first(found: Sequence[Cost]) -> list[Cost]:
    return sorted(found, key=lambda cost: -cost.tokens)


def _number(tokens: int) -> str:
    return f"{tokens:,}" if tokens else ""
