"""Where a repository's work goes: the addresses of its remotes, the forge, and the page there."""

import contextlib
import os
import shlex
import subprocess
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import CortexError
from ..storage.config import Config
from ..storage.forges import (
    PUBLIC,
    Address,
    NoForge,
    choose_forge,
    compare_page,
    kind_of,
    parse_address,
)
from ..storage.git import Checkout, Remote

if TYPE_CHECKING:
    from ..storage.forges.forge import Forge

NO_PARENT = "none"
SSH_LIMIT = 10.0


class Places:
    """The places of one repository: where work is merged, and where branches are pushed to."""

    def __init__(self, git: Checkout, config: Config) -> None:
        self._git = git
        self._config = config
        self._known: dict[str, Address | None] = {}

    @cached_property
    def here(self) -> Config:
        """The settings as they are for the repository that work is merged into."""
        address = self.address(self._git.base) if self._config.has_places else None
        return self._config if address is None else self._config.at(address.host, address.path)

    def address(self, remote: Remote | None) -> Address | None:
        """Return where a remote is on the web, None for one without pages."""
        if remote is None:
            return None
        if remote.name not in self._known:
            self._known[remote.name] = self._find(remote)
        return self._known[remote.name]

    def forge(self, branch: str, *, note: bool = True) -> "Forge | NoForge":
        """Return the forge where requests from a branch are merged, or why there is none.

        Where the only repository is a fork, requests go to its parent, which the forge names once;
        with `note` git remembers it.
        """
        base, head = self._git.base, self._git.push_to(branch)
        there, ours = self.address(base), self.address(head)
        forge = choose_forge(there, self._config, ours)
        if isinstance(forge, NoForge) or base is None or there is None or head is not base:
            return forge
        key = f"remote.{base.name}.cortex-parent"
        parent = self._git.config(key)
        if parent is None:
            with forge, contextlib.suppress(CortexError):
                parent = forge.parent() or NO_PARENT
                if note:
                    self._git.run("config", key, parent)
            forge = choose_forge(there, self._config, ours)
        if parent in (None, NO_PARENT):
            return forge
        return choose_forge(replace(there, path=str(parent)), self._config, ours)

    def page(self, branch: str, main: str) -> str | None:
        """Return the page where a person opens the request of a branch."""
        base, head = self._git.base, self._git.push_to(branch)
        there = self.address(base)
        kind = kind_of(there, self._config) if there is not None else None
        return compare_page(there, self.address(head), branch, main, kind)

    def _find(self, remote: Remote) -> Address | None:
        raw = parse_address(remote.url or "")
        if raw is not None and raw.host in PUBLIC:
            return raw
        found = parse_address(remote.resolved_url or "") or raw
        if found is None or not found.ssh or found.host in PUBLIC:
            return found
        host = self._host_of_alias(found.host)
        return found if host is None or host == found.host else found.at(host)

    def _host_of_alias(self, alias: str) -> str | None:
        """Return the host that a person's ssh means by a name, None where ssh does not tell."""
        told = os.environ.get("GIT_SSH_COMMAND") or self._git.config("core.sshCommand") or "ssh"
        try:
            done = subprocess.run(
                [*shlex.split(told), "-G", "--", alias],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SSH_LIMIT,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None
        facts = (line.partition(" ") for line in done.stdout.splitlines())
        names = (value for key, _, value in facts if key == "hostname")
        return next(names, None) if done.returncode == 0 else None
