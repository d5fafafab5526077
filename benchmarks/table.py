"""Figures as a Markdown table, so that they can be read here and pasted there."""

from collections.abc import Sequence


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the figures to the right."""
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    print(f"\n## {title}\n")
    print(_line(heads, widths))
    print("|-" + "-|-".join("-" * width for width in widths) + "-|")
    for row in rows:
        print(_line(row, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    return f"| {first[0]:<{first[1]}} | " + " | ".join(f"{c:>{w}}" for c, w in rest) + " |"
