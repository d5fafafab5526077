"""Calls a pack with what its schemas allow, nearly allow, and should withstand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings

from ...declarations.tool import Tool
from ...errors import CallError
from ...packs.declared import Declared
from ...packs.entry import Entry
from ..hosting import CallFailed, Hosted
from .calling import broken, called, cure
from .examples import Arguments, hostile, nearly_valid, valid
from .finding import ContractFinding
from .smallest import smallest
from .subject import Subject, Tracebacks, own_entries, tracebacks

KINDS: Mapping[str, Callable[[Mapping[str, Any]], Arguments]] = {
    "valid": valid,
    "nearly valid": nearly_valid,
    "hostile": hostile,
}
SETTLING = 1.1
"""Seconds after which what changes by itself, such as an age in seconds, has changed."""


class _BrokenError(Exception):
    """A call went wrong; its text says how."""


async def fuzz(
    of: Subject, declared: Declared, examples: int, *, repeatable: bool
) -> list[ContractFinding]:
    """Call every tool with so many arguments of each kind; `repeatable` makes the same each time.

    What is found is told with the smallest arguments that show it.
    """
    found = []
    file = declared.file
    package = Path(file).parent if file and Path(file).name == "__init__.py" else None
    with tracebacks() as log:
        async with of.served() as host:
            for entry in own_entries(host, of, "tools"):
                one = _Tool(host, of, entry, package, log)
                for kind, make in KINDS.items():
                    finding = await asyncio.to_thread(
                        one.attempts, kind, make(one.listed["inputSchema"]), examples, repeatable
                    )
                    if finding is not None:
                        found.append(finding)
    return found


class _Tool:
    """One tool of an open pack that is called again and again, from a thread beside the host's.

    Invariants: `_views` is how the pack's views looked after the last call that may have changed
    something, and None until they are looked at again; `_restless` are views that change by
    themselves, and only grows. All but `attempts` runs on the host's loop.
    """

    def __init__(
        self, host: Hosted, of: Subject, entry: Entry, package: Path | None, log: Tracebacks
    ) -> None:
        self.name = entry.name
        self.listed = entry.listed
        self._arguments = entry.contribution.signature.arguments
        self._host = host
        self._of = of
        self._package = package
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._reads = bool(self.listed.get("annotations", {}).get("readOnlyHint"))
        self._views: dict[str, str] | None = None
        self._restless: set[str] = set()

    def attempts(
        self, kind: str, arguments: Arguments, examples: int, repeatable: bool
    ) -> ContractFinding | None:
        """Make so many calls; return what goes wrong, with the smallest arguments for it."""

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=repeatable,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(arguments)
        def attempt(given_arguments: dict[str, Any]) -> None:
            last["arguments"] = given_arguments
            called = self._called(given_arguments)
            problem = asyncio.run_coroutine_threadsafe(called, self._loop).result()
            if problem:
                raise _BrokenError(problem)

        last: dict[str, Any] = {}
        try:
            attempt()
        except _BrokenError as error:
            words, remedy = cure(str(error), self._log)
            shown = json.dumps(last["arguments"], ensure_ascii=True)[:300]
            return ContractFinding(
                "fuzz", self.name, f"called with {kind} arguments {shown}: {words}", remedy
            )
        return None

    async def _called(self, arguments: dict[str, Any]) -> str:
        """Make one call; return what is wrong with it, empty where nothing is."""
        before = await self._seen() if not self._reads and self._reaches(arguments) else None
        outcome = await called(self._host, self.name, arguments)
        self._of.note(self.name, outcome.code)
        for problem in broken(outcome, self.listed, arguments, self._package):
            return problem
        condition = self._host.host.packs[self._of.name].condition
        if condition.state == "failed":
            return f"the pack failed: {condition.reason}"
        if not outcome.is_refused:
            self._views = None
            return ""
        if before is not None and outcome.code == "validation_error":
            return await self._changed(before)
        return ""

    def _reaches(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the pack gets the call; the host refuses what breaks the schema."""
        try:
            self._arguments.check(arguments)
        except CallError:
            return False
        return True

    async def _seen(self) -> dict[str, str]:
        """What the pack shows of its state without arguments; of the last time, if that holds."""
        if self._views is None:
            self._views = await self._look()
        return self._views

    async def _changed(self, before: Mapping[str, str]) -> str:
        after = await self._look()
        differ = {view for view in before.keys() & after.keys() if before[view] != after[view]}
        differ -= self._restless
        if differ:  # it may change by itself
            await asyncio.sleep(SETTLING)
            again = await self._look()
            self._restless |= {view for view in differ if again.get(view) != after[view]}
            differ -= self._restless
            self._views = again
        if differ:
            return f"the call was refused, and yet {', '.join(sorted(differ))} shows a change"
        return ""

    async def _look(self) -> dict[str, str]:
        views = {}
        for entry in own_entries(self._host, self._of, "resources"):
            try:
                views[entry.name] = json.dumps(await self._host.read(entry.name), sort_keys=True)
            except CallFailed as failed:
                views[entry.name] = str(failed.envelope.get("code"))
        for entry in own_entries(self._host, self._of, "tools"):
            if isinstance(entry.contribution, Tool) and entry.contribution.read_only:
                arguments = smallest(entry.listed["inputSchema"])
                outcome = await called(self._host, entry.name, arguments)
                shown = {k: v for k, v in outcome.result.items() if k not in ("_meta", "error")}
                views[entry.name] = json.dumps(shown, sort_keys=True)
        return views
