"""The table of rules in the documentation, made from the rules themselves.

usage: python -m mcp_host_openspec.service.rules.table PAGE

Writes the table into a Markdown page, between the two lines that mark its place.
"""

import argparse
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from . import change, delta, files, spec
from .registry import Rule

RULES: Final[tuple[Rule[Any], ...]] = (*spec.RULES, *delta.RULES, *change.RULES, *files.RULES)
BEGIN: Final = "<!-- rules: begin -->"
END: Final = "<!-- rules: end -->"

_GROUPS: Final = (
    ("S", "about a spec"),
    ("C", "about a change"),
    ("AF", "about archived changes, and files of any kind"),
)


def table(rules: Iterable[Rule[Any]] = RULES) -> str:
    """The rules as Markdown tables, one for each kind of item, by number."""
    ordered = sorted(rules, key=lambda rule: (rule.number[0], int(rule.number[1:])))
    return "\n\n".join(
        "\n".join(
            [
                f"| rule | level | {title} |",
                "|---|---|---|",
                *(
                    f"| {rule.number} | {rule.level[0]} | {rule.about} |"
                    for rule in ordered
                    if rule.number[0] in letters
                ),
            ]
        )
        for letters, title in _GROUPS
    )


def with_table(page: str) -> str:
    """A page with the table as it is now; ValueError where the page does not mark its place."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"the page must hold {BEGIN} and {END}")
    return marked.sub(lambda _: f"{BEGIN}\n\n{table()}\n\n{END}", page)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table into the page that is named."""
    parser = argparse.ArgumentParser(description="Write the table of rules into a page.")
    parser.add_argument("page", type=Path)
    page: Path = parser.parse_args(arguments).page
    page.write_text(with_table(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
