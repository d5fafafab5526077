"""The table of clients in docs/how-to/connect-a-client.md; run as a program, this writes it."""

from pathlib import Path

from mcp_host.clients.client import SYSTEMS, Client
from mcp_host.clients.known import CLIENTS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-client.md"
START, END = "<!-- clients: tests/docs/clients_table.py writes this -->\n", "<!-- end -->\n"
FOLDERS = {"{programs}": "SETTINGS", "{xdg}": "~/.config", "{local}": "%LOCALAPPDATA%"}


def table() -> str:
    """The table as the page has it."""
    head = "| CLIENT | | its file | in a project | a variable | waits |"
    return f"{head}\n{6 * '|---'}|\n" + "".join(map(_row, CLIENTS.values()))


def _row(client: Client) -> str:
    project = f"`{client.project_file}`" if client.project_file else "–"
    return (
        f"| `{client.name}` | [{client.title}]({client.source}) | {_files(client)} | {project} | "
        f"{_variable(client)} | {client.seconds} s |\n"
    )


def _variable(client: Client) -> str:
    if client.inputs:
        return "asked for, and kept"
    return f"`{client.names}`" if client.names else f"`{client.refer}`" if client.refer else "–"


def _files(client: Client) -> str:
    by_system = {
        system: _of(client, system)
        for system in SYSTEMS
        if not client.systems or system in client.systems
    }
    if len(set(by_system.values())) == 1 and not client.systems:
        return next(iter(by_system.values()))
    told: dict[str, list[str]] = {}
    for system, files in by_system.items():
        told.setdefault(files, []).append(SYSTEMS[system])
    return "; ".join(f"{' and '.join(systems)}: {files}" for files, systems in told.items())


def _of(client: Client, system: str) -> str:
    ours = {"darwin": client.darwin, "win32": client.windows}.get(system) or client.files
    places = [(choice,) if isinstance(choice, str) else choice for choice in ours]
    return ", ".join(" or ".join(_shown(path) for path in place) for place in places)


def _shown(written: str) -> str:
    for name, folder in FOLDERS.items():
        written = written.replace(name, folder)
    if written.startswith("{"):
        variable, _, rest = written[1:].partition(":")
        otherwise, _, rest = rest.partition("}")
        return f"`{otherwise}{rest}` (`${variable}` for `{otherwise}`)"
    return f"`{written}`"


def written(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(START)
    return before + START + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
