"""What the commands share: options, the chosen settings, and where answers are printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ..errors import SettingsError
from ..serving import logs, prints
from ..startup import saved, stdout
from ..startup.printable import shown, shown_in_json
from ..startup.trust import (
    NO_PACKS,
    ChosenFile,
    choose,
    is_safe_mode,
    working_folder,
)

if TYPE_CHECKING:
    from ..packs.inventory import Inventory
    from ..settings.loading import Settings

ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The settings file.", show_default=False)
]
SourceOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="The settings file; or a file of Python or a project's folder, served as it lies "
        "there.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

WIDTH = 160
"""How wide a table is that goes into a file or another program."""

STATE_STYLES = {
    "ready": "green",
    "checked": "green",
    "opening": "cyan",
    "degraded": "yellow",
    "failed": "red",
    "disabled": "dim",
}


def chosen_file(config: Path | None) -> Path:
    """The settings file that a command works on; `SettingsError` where there is none."""
    return _chosen(config)[0]


def chosen_bytes(config: Path | None) -> tuple[Path, bytes]:
    """As `chosen_file`, with the file's bytes: those that were trusted where it needs trust."""
    from ..settings.loading import read  # as in `chosen_settings`

    path, choice = _chosen(config)
    return path, read(path, choice.digest)


def _chosen(config: Path | None) -> tuple[Path, ChosenFile]:
    choice = choose(config)
    if choice.path is None:
        raise SettingsError(
            choice.notice or "there is no settings file; make one with: mcp-host init"
        )
    _tell(choice)
    return choice.path, choice


def saved_catalogue(config: Path | None) -> saved.Saved:
    """What `mcp-host serve`, started here, would show first without loading anything.

    Where there is something to say of the choice of settings, none is looked for: `chosen_settings`
    will say it.
    """
    if is_written(config):
        return saved.Saved(None, "it is for settings files alone")
    choice = choose(config)
    if choice.path is None or choice.notice or is_safe_mode():
        return saved.Saved(None, "there is none yet")
    return saved.read(saved.ServerIdentity("mcp-host", choice.file, working_folder()))


def chosen_settings(config: Path | None) -> Settings:
    """The settings that `serve` would use; empty ones where there is no file, which is said."""
    from ..settings.loading import Settings, load  # a list from the saved catalogue does without

    if config is not None and is_written(config):
        return _written_settings(config)
    choice = choose(config)
    _tell(choice)
    if choice.path is None:
        return Settings()
    settings = load(choice.path, digest=choice.digest)
    if is_safe_mode():
        print(f"{NO_PACKS}=1: no packs are served", file=sys.stderr)
        return settings.replace(packs={})
    return settings


def is_written(config: Path | None) -> bool:
    """Whether packs are meant as they are written there: a file of Python, or a folder."""
    return config is not None and (config.suffix == ".py" or config.is_dir())


def _written_settings(path: Path) -> Settings:
    """Settings that serve what is written at a path, which can be imported from now on."""
    from ..packs.written import WrittenPacks
    from ..settings.loading import parse

    written = WrittenPacks.at(path)
    if not (written.settings or written.modules or written.files):
        raise SettingsError(
            f"{written.folder} must have a pyproject.toml that offers a pack, or mcp-host.toml"
        )
    written.install_here()
    return parse(written.tables(), written.settings)


def _tell(choice: ChosenFile) -> None:
    """Say what a person should know of the choice; advice that works, and one line of it."""
    if choice.notice:
        say(choice.notice)
    elif choice.path is None:
        print("no settings file; make one with: mcp-host init", file=sys.stderr)


def loaded(settings: Settings, *, wait: bool = True) -> Inventory:
    """The packs of the settings, imported and checked, none of them open yet.

    Without `wait` one that takes long to import is not waited for.
    """
    from ..packs.inventory import Inventory, RequiredPackError

    inventory = Inventory(settings, is_recorded=True)
    with suppress(RequiredPackError):  # a command shows what is wrong, and goes on
        inventory.load()
    if wait:
        inventory.wait_loaded()
    return inventory


class Output:
    """Standard output, taken for this command's answer alone: packs that print go to stderr."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout is not None and sys.stdout.isatty()
        source, sink = stdout.claim()
        os.dup2(source, 0)  # a person may be asked
        os.close(source)
        self._file: TextIO = os.fdopen(sink, "w", encoding="utf-8", errors="backslashreplace")

    def json(self, data: Any) -> None:
        """Plain data as indented JSON."""
        text = json.dumps(data, indent=2, ensure_ascii=False, default=str)
        self.raw(shown_in_json(text))

    def text(self, text: str) -> None:
        """A text, its control characters shown."""
        self.raw(shown(text))

    def result(self, text: str) -> None:
        """What a call has brought: as it is for programs, as `text` for people."""
        self.raw(shown(text) if self.is_terminal else text)

    def raw(self, text: str) -> None:
        """A text as it is."""
        self._file.write(text + "\n")
        self._file.flush()

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], empty: str) -> None:
        """A table for people; `empty` is said where it has no rows."""
        given = [list(row) for row in rows]
        if not given:
            self.text(empty)
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        width = None if self.is_terminal else WIDTH
        console = Console(file=self._file, force_terminal=self.is_terminal or None, width=width)
        table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
        for row in given:
            cells = [Text(shown(cell), style=STATE_STYLES.get(cell, "")) for cell in row]
            table.add_row(*cells)
        console.print(table)

    def styled(self, markup: str) -> None:
        """A line with rich's markup in it; what others said in it went through `escaped`."""
        from rich.console import Console

        Console(file=self._file, force_terminal=self.is_terminal or None, soft_wrap=True).print(
            markup, highlight=False
        )


def quiet_logs(settings: Settings, level: str = "error") -> None:
    """Let a command's own words stand; the log shows only what nobody else says."""
    logs.configure(level, settings.host.log_format, settings.secrets)
    prints.mask(settings.secrets)


def say(text: str) -> None:
    """Tell the person something on standard error, its control characters shown."""
    print(shown(text), file=sys.stderr)


def escaped(text: str) -> str:
    """Somebody's text as a part of rich's markup."""
    from rich.markup import escape

    return escape(shown(text))


def first_line(text: str, width: int = 100) -> str:
    """The first line of a text, cut to a width."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= width else line[: width - 1] + "…"
