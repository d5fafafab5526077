"""How a project's file starts the host on everybody's machine: without a path of this one."""

from __future__ import annotations

import shutil

from ...clients.client import Launch
from ...errors import SettingsError

LAUNCHER = "mcp-host"


def project_launch(source: str) -> Launch:
    """Start by `uvx --from` a package where one is named, else by the launcher on the PATH.

    No settings file is named: the host finds the project's `mcp-host.toml`, and reads it on each
    machine once its owner trusts it. Raises `SettingsError` where there is neither.
    """
    if source:
        return Launch("uvx", ("--from", source, LAUNCHER, "serve"))
    if shutil.which(LAUNCHER) is None:
        raise SettingsError(
            f"{LAUNCHER} is not on the PATH, and an entry that others use has no path of this "
            "machine: install it with `uv tool install` or pipx, or name a package with --from, "
            'such as --from "mcp-host[tasky]"'
        )
    return Launch(LAUNCHER, ("serve",))
