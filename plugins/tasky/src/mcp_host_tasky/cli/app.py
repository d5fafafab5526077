"""All commands of `tasky`, and how it ends."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import TaskyError
from . import maintenance, pictures, project, tasks, transfer
from .plan import in_local_time, plain
from .process import ending_in_order, use_what_is_there
from .ui import ui

ALSO_CALLED = {
    "add": ("create", "new"),
    "board": ("status",),
    "claim": ("start", "take"),
    "delete": ("rm", "remove"),
    "done": ("close", "complete", "finish"),
    "edit": ("change", "update"),
    "list": ("ls",),
    "log": ("events", "history"),
    "project init": ("init",),
    "search": ("find", "grep"),
    "show": ("get", "view"),
    "tag": ("label",),
}
"""What other tools call the same command; who types it is told ours."""


class Commands(TyperGroup):
    """The group of all commands, which knows what others call them."""

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """The command that is meant; a word of other tools is answered with ours."""
        for ours, theirs in ALSO_CALLED.items():
            if args[0] in theirs and not ctx.resilient_parsing:
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{ours}'?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="tasky",
    cls=Commands,
    help="A project's plan that people and agents share.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(project.app, name="project", help="Make and look at projects.")
app.command("list")(tasks.list_tasks)
app.command()(tasks.ready)
app.command()(tasks.search)
app.command()(tasks.show)
app.command()(tasks.add)
app.command()(tasks.done)
app.command()(tasks.edit)
app.command()(tasks.tag)
app.command()(tasks.note)
app.command("next")(tasks.take_next)
for _action, _did, _about in (
    ("cancel", "cancelled", "Cancel tasks, all or none."),
    ("reopen", "reopened", "Open completed or cancelled tasks again."),
    ("delete", "deleted", "Delete tasks; what waited for them is changed with them."),
    ("claim", "claimed", "Claim tasks, so that others leave them to you."),
    ("release", "released", "Give claims back; --force frees those of others."),
):
    app.command(_action)(tasks.change(_action, _did, _about))
app.command()(pictures.board)
app.command()(pictures.graph)
app.command()(pictures.watch)
app.command()(ui)
app.command()(tasks.log)
app.command()(tasks.undo)
app.command("import")(transfer.import_tasks)
app.command("export")(transfer.export_tasks)
app.command()(transfer.migrate)
app.command()(maintenance.check)
app.command()(maintenance.backup)
app.command()(maintenance.resolve)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and end.",
        ),
    ] = False,
) -> None:
    """Options that need no command; `version` is done by its callback."""


def _others(error: TaskyError) -> list[str]:
    """Return what else failed, where several things did; the message tells of the first."""
    items = error.details.get("items")
    told = [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    return [f"{one['index']}: {one['error']}" for one in told[1:]]


def _ways_out(error: TaskyError) -> list[str]:
    """Return what helps: a person has other ways past a claim than an agent."""
    if error.reason not in ("claimed", "not_claimant"):
        return error.suggestions
    return [
        "Wait for the lease's end, or go past the claim: --force completes, cancels or deletes the "
        "task all the same, and `tasky release --force TASK` frees it."
    ]


def main() -> None:
    """Run a command; a refusal is one line, what helps is the next, and the exit code is 1."""
    use_what_is_there()
    try:
        with ending_in_order():
            try:
                app()
            finally:
                sys.stdout.flush()  # a full disk can be told of here, and not when all is over
    except TaskyError as error:
        print(f"error: {in_local_time(plain(error.message))}", file=sys.stderr)
        for line in (*_others(error), *_ways_out(error)):
            print(in_local_time(plain(line)), file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        # A folder that may not be written to, a full disk: nothing that a traceback would explain.
        where = plain(str(error.filename or "The output"))
        print(f"error: {where} cannot be used: {error.strerror or error}.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what could not be written is given up
        sys.exit(1)
