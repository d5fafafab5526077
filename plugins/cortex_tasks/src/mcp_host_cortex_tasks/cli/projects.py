"""ctx projects list | new"""

import argparse

from ..errors import InvalidError, NotAllowedError, RefusedError
from ..storage.config import LOCAL, Config
from ..storage.config_changes import set_value
from ..storage.remote import Backend
from ..storage.remote.accounts import make_organization, make_project, projects
from .answer import Answer, say


def list_projects(given: argparse.Namespace, config: Config) -> Answer:
    """Show the projects that the caller can see."""
    rows = [] if config.url == LOCAL else projects(_backend(config))
    lines = [f"{row['id']}  {row['name']}" for row in rows] or ["There are no projects."]
    return Answer({"success": True, "projects": rows}, say(*lines))


def new(given: argparse.Namespace, config: Config) -> Answer:
    """Make a project, and an organization where one is named; it is then the default project."""
    if config.url == LOCAL:
        raise InvalidError("Local mode has one project.", reason="local_mode")
    backend = _backend(config)
    if given.organization is not None:
        make_organization(backend, given.organization)
    try:
        made = make_project(backend, given.name)
    except (InvalidError, NotAllowedError, RefusedError) as error:
        if given.organization is None:
            error.suggestions.append(
                f"Without an organization: ctx projects new {given.name!r} --organization NAME"
            )
        raise
    if config.number("default_project_id") is None:
        set_value(config.path, "default_project_id", str(made["id"]))
    return Answer(
        {"success": True, "project": made}, say(f"Project {made['id']} is made: {made['name']}.")
    )


def _backend(config: Config) -> Backend:
    return Backend(config.url, config.token(), timeout=config.seconds("timeout"))
