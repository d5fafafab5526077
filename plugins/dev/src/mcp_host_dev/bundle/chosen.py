"""What goes into a bundle: the packs, what they need, and what a client will see of them."""

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tomli_w
from mcp_host.testing import ServerExited, stdio_client

from .errors import BundleError

GROUP = "mcp_host.packs"
HOST = "mcp-host"
PACKS_URI = "host://packs"


@dataclass(frozen=True)
class Requirement:
    """A distribution at one version, and its wheel where the bundle carries it."""

    name: str
    version: str
    wheel: Path | None = None

    @property
    def pin(self) -> str:
        """The requirement as an installer reads it."""
        return f"{self.name}=={self.version}"


@dataclass(frozen=True)
class Chosen:
    """The chosen packs: `requirements` begin with the host; tools and prompts as clients see them.

    `skills` are folders with a `SKILL.md`, by their names.
    """

    name: str
    version: str
    description: str
    author: str
    packs: tuple[str, ...]
    requirements: tuple[Requirement, ...]
    tools: tuple[Mapping[str, Any], ...]
    prompts: tuple[Mapping[str, Any], ...]
    skills: Mapping[str, Path]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings file of the bundle: the packs, and nothing of this machine."""
        return {"packs": {pack: {"enabled": True} for pack in self.packs}}


def offers(names: Sequence[str]) -> dict[str, metadata.EntryPoint]:
    """Find the entry point of each pack; `BundleError` where one is missing or offered twice."""
    found: dict[str, list[metadata.EntryPoint]] = {}
    for point in metadata.entry_points(group=GROUP):
        found.setdefault(point.name, []).append(point)
    known = ", ".join(sorted(found)) or "none"
    if not names:
        raise BundleError(f"name the packs to bundle; installed are: {known}")
    for name in names:
        if name not in found:
            raise BundleError(f"no pack '{name}' is installed; installed are: {known}")
        if len({point.dist.name for point in found[name] if point.dist}) > 1:
            raise BundleError(f"two distributions offer the pack '{name}': uninstall one of them")
    return {name: found[name][0] for name in dict.fromkeys(names)}


def requirements(
    points: Iterable[metadata.EntryPoint], wheels: Path | None
) -> tuple[Requirement, ...]:
    """The host and the distributions of the packs at their installed versions, wheels found."""
    distributions = [metadata.distribution(HOST), *(point.dist for point in points if point.dist)]
    versions = {one.name: one.version for one in distributions}
    return tuple(
        Requirement(name, version, _wheel(name, version, wheels))
        for name, version in versions.items()
    )


def _wheel(name: str, version: str, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    if not folder.is_dir():
        raise BundleError(f"--wheels must be a folder, not {folder}")
    return next(iter(sorted(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))), None)


async def seen(packs: Sequence[str]) -> dict[str, list[Any]]:
    """Start the host with these packs as a client would; its tools, its prompts and its packs.

    It has folders of its own, so that nothing of this user is read or written. `BundleError` names
    the pack that cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-host-bundle-") as made:
        folder = Path(made)
        project = folder / "project"
        project.mkdir()
        settings = folder / "mcp-host.toml"
        settings.write_text(tomli_w.dumps({"packs": {pack: {"enabled": True} for pack in packs}}))
        command = [sys.executable, "-P", "-m", "mcp_host", "serve", "--config", str(settings)]
        command += ["--root", str(project), "--no-catalogue", "--log-level", "error"]
        own = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")}
        environment = {**own, "HOME": str(folder)}
        try:
            async with stdio_client(command, cwd=project, environment=environment) as client:
                tools = await client.tools()
                prompts = (await client.request("prompts/list", {}))["prompts"]
                (content,) = await client.read(PACKS_URI)
        except ServerExited as error:
            raise BundleError(f"the host could not be started with these packs: {error}") from None
    reports = json.loads(content["text"])
    for report in reports:
        if report["state"] == "failed" and report.get("code") != "no_project":
            raise BundleError(f"the pack '{report['name']}' cannot be loaded: {report['reason']}")
    return {"tools": list(tools), "prompts": prompts, "packs": reports}


def skills(
    points: Mapping[str, metadata.EntryPoint], reports: Iterable[Mapping[str, Any]]
) -> dict[str, Path]:
    """The folders of the skills that the host has found in the packs, by their names."""
    found: dict[str, Path] = {}
    for report in reports:
        point = points.get(report["name"])
        if point is None or not report.get("skills"):
            continue
        spec = find_spec(point.module.partition(".")[0])  # nothing of the pack is imported for it
        if spec is None or spec.origin is None:
            continue
        for name in report["skills"]:
            if name in found:
                raise BundleError(f"two packs ship a skill '{name}': bundle one of them")
            found[name] = Path(spec.origin).with_name("skills") / name
    return found
