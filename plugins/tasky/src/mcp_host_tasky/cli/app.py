"""All commands of `tasky`, and how it ends."""

import os
import sys

import typer

from ..errors import TaskyError
from . import moving, project, tasks
from .opening import plain

app = typer.Typer(
    name="tasky",
    help="A project's plan that people and agents share.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(project.app, name="project", help="Make and look at projects.")
app.command("list")(tasks.list_tasks)
app.command()(tasks.show)
app.command()(tasks.add)
app.command()(tasks.done)
app.command()(tasks.log)
app.command()(tasks.undo)
app.command("import")(moving.import_tasks)
app.command("export")(moving.export_tasks)
app.command()(moving.migrate)


def main() -> None:
    """Run a command; a refusal is one line, what helps is the next, and the exit code is 1."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here a full disk can be told of; at the end of the process not
    except TaskyError as error:
        print(f"error: {plain(error.message)}", file=sys.stderr)
        for line in error.suggestions:
            print(plain(line), file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        # A folder that may not be written to, a full disk: nothing that a traceback would explain.
        where = plain(str(error.filename or "The output"))
        print(f"error: {where} cannot be used: {error.strerror or error}.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what could not be written is given up
        sys.exit(1)
