"""ctx auth login | logout | status"""

import argparse
import sys
from getpass import getpass

from ..errors import CortexError, InvalidError, LoginNeededError
from ..storage.config import LOCAL, Config
from ..storage.config_changes import keep_token, set_value
from ..storage.remote.accounts import log_in, project_ids, register
from ..storage.stores import open_tasks
from .answer import Answer, say


def login(given: argparse.Namespace, config: Config) -> Answer:
    """Get a token for an e-mail and a password, and keep it."""
    if config.url == LOCAL:
        return _local()
    config.refuse_plain_http()
    timeout = config.seconds("timeout")
    email = given.email or _ask("E-mail: ", given)
    password = sys.stdin.readline().rstrip("\r\n") if given.password_stdin else _ask_hidden(given)
    if given.register:
        register(
            config.url, given.username or email.split("@")[0], email, password, timeout=timeout
        )
    token = log_in(config.url, email, password, timeout=timeout)
    keep_token(config, token)
    data: dict[str, object] = {"success": True, "email": email, "url": config.url}
    project = _only_project(config, token)
    if project is not None:
        data["default_project_id"] = project
    return Answer(data, say(f"Logged in to {config.url} as {email}."))


def logout(given: argparse.Namespace, config: Config) -> Answer:
    """Forget the token."""
    keep_token(config, None)
    return Answer({"success": True, "logged_in": False}, say("Logged out."))


def status(given: argparse.Namespace, config: Config) -> Answer:
    """Tell who is logged in where; the backend is asked whether it accepts the token."""
    try:
        user = open_tasks(config).me()
    except LoginNeededError as error:
        data = {"success": True, "logged_in": False, "url": config.url, "message": error.message}
        return Answer(data, say(f"Not logged in to {config.url}."))
    data = {
        "success": True,
        "logged_in": True,
        "url": config.url,
        "user": {"id": user.id, "username": user.username, "email": user.email},
    }
    return Answer(data, say(f"Logged in to {config.url} as {user.email}."))


def _local() -> Answer:
    return Answer(
        {"success": True, "url": LOCAL, "message": "Local mode needs no login."},
        say("Local mode needs no login."),
    )


def _only_project(config: Config, token: str) -> int | None:
    """Remember the user's project for new tasks, where there is exactly one and none is set."""
    if config.number("default_project_id") is not None:
        return None
    try:
        found = project_ids(config.url, token, timeout=config.seconds("timeout"))
    except CortexError:
        return None  # a convenience; the login itself is done
    if len(found) != 1:
        return None
    set_value(config.path, "default_project_id", str(found[0]))
    return found[0]


def _ask(question: str, given: argparse.Namespace) -> str:
    if given.json or not sys.stdin.isatty():
        raise InvalidError(
            "Without a terminal nothing is asked.",
            reason="no_terminal",
            suggestions=["ctx auth login --email EMAIL --password-stdin"],
        )
    return input(question)


def _ask_hidden(given: argparse.Namespace) -> str:
    if given.json or not sys.stdin.isatty():
        return _ask("", given)
    return getpass("Password: ")
