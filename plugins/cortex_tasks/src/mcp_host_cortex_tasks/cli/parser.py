"""The command line of `ctx`: argparse, because typer costs more than all of `ctx tasks list`.

What a command takes is told to argparse when that command is parsed: telling it of all of them
takes 6 ms, for which every command would wait.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..errors import InvalidError
from ..model.rules import PRIORITIES, STATUSES, TYPES


class Parser(argparse.ArgumentParser):
    """Complains by our errors, so that `--json` gets JSON for a wrong command line too.

    `fill` tells it what it takes, when that is first asked for.
    """

    def __init__(
        self, *args: Any, fill: Callable[["Parser"], None] | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._fill = fill

    def filled(self) -> "Parser":
        """Return the parser once it knows what it takes."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)
        return self

    def parse_known_args(  # type: ignore[override]  # typeshed has an overload for each namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """See argparse."""
        self.filled()
        return super().parse_known_args(args, namespace)

    def format_help(self) -> str:
        """See argparse."""
        self.filled()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise InvalidError(message, reason="usage", suggestions=[f"{self.prog} --help"])


def make_parser() -> Parser:
    """Return the whole command line. Each command names its function as `module:function`."""
    top = Parser(prog="ctx", description="Work on your tasks from git.")
    top.add_argument("--version", action="store_true", help="show the version and end")
    top.add_argument("--json", action="store_true", help="print one JSON object")
    groups = top.add_subparsers(metavar="COMMAND", parser_class=Parser, prog="ctx")
    for name, about, fill in (
        ("auth", "log in and out of the backend", _auth),
        ("config", "your settings", _config),
        ("tasks", "your tasks, their branches and pull requests", _tasks),
        ("projects", "the projects of the backend", _projects),
        ("kept", "what ctx took out of sight, for 30 days", _kept),
    ):
        groups.add_parser(name, help=about, fill=fill)
    _command(groups, "undo", "work:undo", "take the last command back", _undo)
    _command(groups, "completion", "completion:show", "print a shell's completion", _completion)
    groups.add_parser("backend", help="a backend of your own", fill=_backend)
    return top


def _undo(undo: Parser) -> None:
    _keep(undo)
    _dry_run(undo)


def _completion(shell: Parser) -> None:
    shell.add_argument("shell", choices=("bash", "zsh"))


def _auth(parser: Parser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    login = _command(commands, "login", "auth:login", "get a token and keep it")
    login.add_argument("--email", help="your e-mail; asked for without it")
    login.add_argument("--password-stdin", action="store_true", help="read the password from stdin")
    login.add_argument("--register", action="store_true", help="make the user first")
    login.add_argument("--username", help="with --register; else the e-mail's first part")
    _command(commands, "logout", "auth:logout", "forget the token")
    _command(commands, "status", "auth:status", "tell who is logged in where")


def _config(parser: Parser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _command(commands, "list", "config:list_values", "show what is set, secrets hidden")
    _command(commands, "keys", "config:list_keys", "show what can be set")
    _command(commands, "get", "config:get", "show one setting").add_argument("key")
    change = _command(commands, "set", "config:change", "change one setting")
    change.add_argument("key")
    change.add_argument("value", help="the value; - reads a secret from stdin")
    unset = _command(commands, "unset", "config:unset", "remove one setting")
    unset.add_argument("key")
    for command in (change, unset):
        command.add_argument(
            "--for", dest="place", metavar="HOST[/REPOSITORY]", help="there, and nowhere else"
        )


def _tasks(parser: Parser) -> None:
    commands = parser.add_subparsers(
        metavar="COMMAND", required=True, parser_class=Parser, prog=parser.prog
    )
    for name, runs, about, fill in (
        ("list", "tasks:list_tasks", "show your tasks", _task_list),
        ("new", "work:new", "make a task, assigned to you", _task_new),
        ("show", "tasks:show", "show one task", _task_show),
        ("edit", "edit:edit", "change a task", _task_edit),
        ("assign", "edit:assign", "give a task to somebody", _task_assign),
        ("comment", "edit:comment", "put a comment to a task, or show them", _task_comment),
        ("feedback", "feedback:feedback", "show CI, reviews and comments", _task_feedback),
        ("start", "work:start", "give a task its branch and begin", _task_start),
        ("pr", "work:submit", "commit, push and open the pull request", _task_pr),
        ("sync", "work:sync", "bring the task's branch up to date", _task_sync),
        ("done", "work:done", "complete the task whose branch is merged", _task_done),
        ("delete", "work:delete", "delete a task; 'ctx undo' restores it", _task_delete),
        ("status", "work:status", "tell which task's branch this is", _task_status),
    ):
        _command(commands, name, runs, about, fill)


def _task_list(rows: Parser) -> None:
    rows.add_argument("--status", metavar="STATUS", help="|".join(STATUSES))
    rows.add_argument("--open", action="store_true", help="those that are not done")
    rows.add_argument("--type", metavar="TYPE", help="|".join(TYPES))
    rows.add_argument("--priority", metavar="PRIORITY", help="|".join(PRIORITIES))
    rows.add_argument("--search", metavar="TEXT", help="in title and description")


def _task_new(new: Parser) -> None:
    new.add_argument("title")
    new.add_argument("deadline", nargs="?", metavar="YYYY-MM-DD")
    new.add_argument("-t", "--type", default="feature", metavar="TYPE", help="|".join(TYPES))
    new.add_argument(
        "-p", "--priority", default="MEDIUM", metavar="PRIORITY", help="|".join(PRIORITIES)
    )
    new.add_argument("-d", "--description")
    new.add_argument("--project", metavar="ID", help="else default_project_id")
    _dry_run(new)


def _task_show(show: Parser) -> None:
    show.add_argument("id")
    show.add_argument(
        "--all", action="store_true", help="with its comments and what the forge tells"
    )


def _task_edit(edit: Parser) -> None:
    edit.add_argument("id")
    for name in ("title", "description", "type", "priority", "deadline"):
        edit.add_argument(f"--{name}")
    edit.add_argument("--assignee", metavar="WHO", help="a number, an e-mail, or 'me'")
    _dry_run(edit)


def _task_assign(assign: Parser) -> None:
    assign.add_argument("id")
    assign.add_argument("assignee", metavar="WHO", help="a number, an e-mail, or 'me'")
    _dry_run(assign)


def _task_comment(comment: Parser) -> None:
    comment.add_argument("id")
    comment.add_argument("text", nargs="?", help="the comment; without it they are shown")


def _task_feedback(told: Parser) -> None:
    told.add_argument("id", nargs="?", help="else the task of the current branch")
    told.add_argument(
        "--unless", metavar="TAGS", help="JSON of an earlier answer's tags: only what is new"
    )


def _task_start(start: Parser) -> None:
    start.add_argument("id", nargs="?")
    start.add_argument("--title", help="make a task with this title, and begin it")
    start.add_argument("--description", help="of the new task")
    start.add_argument("--branch", metavar="NAME", help="a name of your own for the branch")
    start.add_argument("--worktree", action=argparse.BooleanOptionalAction, default=None)
    start.add_argument("--on", metavar="ID", help="stand on this task's branch: a stack")
    start.add_argument("--steal", action="store_true", help="take over another clone's claim")
    start.add_argument("--reopen", action="store_true", help="start a task that is done")
    _keep(start)
    _dry_run(start)


def _task_pr(submit: Parser) -> None:
    submit.add_argument("-m", "--message", help="the commit message")
    submit.add_argument("--use-title", action="store_true", help="else the task's title")
    submit.add_argument(
        "--add", action="append", default=[], metavar="PATH", help="an untracked file"
    )
    submit.add_argument(
        "--allow", action="append", default=[], metavar="PATH", help="it is no secret"
    )
    submit.add_argument("--title", help="the request's title; else the task's")
    submit.add_argument("--body", help="the request's text; else the task's description")
    submit.add_argument("--draft", action="store_true", default=None, help="the request is a draft")
    submit.add_argument(
        "--ready", dest="draft", action="store_false", help="the request is no draft any more"
    )
    submit.add_argument("--no-pr", action="store_true", help="push, and open no request")
    submit.add_argument("--comment", help="put this comment to the task as well")
    _task(submit)
    _dry_run(submit)


def _task_sync(sync: Parser) -> None:
    how = sync.add_mutually_exclusive_group()
    how.add_argument(
        "--rebase", dest="how", action="store_const", const="rebase", default="rebase",
        help="on the main branch, or the lower task of a stack: the default",
    )  # fmt: skip
    how.add_argument("--merge", dest="how", action="store_const", const="merge")
    how.add_argument("--continue", dest="proceed", action="store_true", help="conflicts are solved")
    how.add_argument("--abort", action="store_true", help="go back to before the conflicts")
    _keep(sync)
    _task(sync)
    _dry_run(sync)


def _task_done(done: Parser) -> None:
    done.add_argument(
        "--force", action="store_true", help="change the state without proof of a merge"
    )
    done.add_argument("--comment", help="put this comment to the task as well")
    _keep(done)
    _task(done)
    _dry_run(done)


def _task_delete(delete: Parser) -> None:
    delete.add_argument("id")
    _dry_run(delete)


def _task_status(stand: Parser) -> None:
    stand.add_argument("--offline", action="store_true", help="ask no forge")
    _task(stand)


def _projects(parser: Parser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _command(commands, "list", "projects:list_projects", "show the projects")
    new = _command(commands, "new", "projects:new", "make a project")
    new.add_argument("name")
    new.add_argument("--organization", metavar="NAME", help="make that first, and belong to it")


def _kept(parser: Parser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _command(commands, "list", "kept:list_items", "show what is kept")
    _command(commands, "show", "kept:show", "show one item and its files").add_argument("id")
    _command(
        commands, "restore", "kept:restore", "put back a worktree, work, or a commit as a branch"
    ).add_argument("id")
    _command(commands, "drop", "kept:drop", "delete an item for good").add_argument("id")


def _backend(parser: Parser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    serve = _command(commands, "serve", "backend:serve", "serve the Cortex API")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000, help="0 takes a free one, shown on stderr")
    serve.add_argument("--database", metavar="URL", help="else an SQLite file beside your settings")
    serve.add_argument("--closed", action="store_true", help="nobody can register")


def _command(
    commands: "argparse._SubParsersAction[Parser]",
    name: str,
    runs: str,
    about: str,
    fill: Callable[[Parser], None] | None = None,
) -> Parser:
    def filling(parser: Parser) -> None:
        parser.set_defaults(runs=runs)
        parser.add_argument(
            "--json", action="store_true", help="print one JSON object and nothing else"
        )
        if fill is not None:
            fill(parser)

    described = about.capitalize() + "."
    return commands.add_parser(name, help=about, description=described, fill=filling)


def _task(parser: Parser) -> None:
    parser.add_argument("--task", metavar="ID", help="this one, in its own worktree")


def _keep(parser: Parser) -> None:
    parser.add_argument(
        "--keep", action="store_true", help="keep uncommitted work: see 'ctx kept list'"
    )


def _dry_run(parser: Parser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="tell what would be done, do nothing"
    )
