"""Which tree a command is about."""

import os
from pathlib import Path

from ..errors import OpenSpecError
from ..service import OpenSpec
from ..storage.roots import Root, from_environment, nearest, user_schemas
from .output import CommandError, complain


def open_tree(*, implicit: bool) -> OpenSpec:
    """The tree named by `OPENSPEC_ROOT`, else the nearest one upwards.

    `implicit`: where there is none, go on as if it were right here.
    """
    root = find_root(implicit=implicit)
    service = OpenSpec(root, user_schemas=own_schemas(), once=True)
    try:
        service.recover()
    except OpenSpecError as error:
        complain(f"Warning: an archive was cut short and could not be settled: {error}")
    return service


def own_schemas() -> Path:
    """Where a person keeps schemas for all projects."""
    return user_schemas(os.environ, Path.home())


def find_root(*, implicit: bool) -> Root:
    """Where the tree is or would be."""
    here = Path.cwd()
    found = from_environment(here, os.environ, Path.home()) or nearest(here)
    if found is not None:
        return found
    if not implicit:
        raise CommandError(
            "no_openspec_root",
            "No OpenSpec tree here or in any folder above.",
            target="openspec.root",
            fix="Make one here with: openspec init --tools none",
        )
    return Root(here.resolve(), "implicit")
