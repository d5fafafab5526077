"""How a pack behaves once it is open: cancelled, out of time, asked, and what it reads."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...declarations.context import Caller
from ...errors import CallError
from ...packs.declared import Declared
from ..environment import environment_reads
from ..hosting import Hosted
from ..person import Person
from .calling import CallOutcome, broken, called, cure
from .finding import ContractFinding
from .smallest import smallest
from .subject import Subject, Tracebacks, own_entries, tracebacks

PATIENCE = 5.0
"""Seconds in which calls that nobody waits for must have ended."""
SHORT = 0.01
"""The deadline in seconds by which it is tried what a pack does when time runs out."""
_ABANDONED = "calls_abandoned"


async def run(of: Subject) -> list[ContractFinding]:
    """Open the pack and call it; find what goes wrong beyond single answers."""
    with tracebacks() as log, environment_reads(of.module) as reads:
        async with of.served() as host:
            condition = host.host.packs[of.name].condition
            if condition.state == "failed":
                remedy = condition.remedy or (
                    "open with default settings; say what is missing by pack.degraded(…)"
                )
                reason = f"the pack cannot be opened: {condition.reason}"
                return [ContractFinding("open", "", reason, remedy)]
            found = [
                *await _called_once(host, of, log),
                *await _cancelled(host, of, log),
                *_offered(host, of),
            ]
        async with of.served(timeout=SHORT) as host:
            found += await _out_of_time(host, of, log)
    return [*found, *map(_undeclared, reads.undeclared)]


def _undeclared(variable: str) -> ContractFinding:
    remedy = f'declare it: mcp_host_needs() returns Needs(reads_environment=("{variable}",))'
    if variable == "*":
        remedy = "start programs by pack.run(…), which gives them a listed environment"
    problem = f"the pack reads the variable {variable} without saying so"
    return ContractFinding("environment", "", problem, remedy)


def mapped(declared: Declared) -> Iterator[ContractFinding]:
    """Find errors of the pack's own that stand for no code."""
    package = declared.offer.module.partition(":")[0].partition(".")[0]
    homes = {f"{package}.errors", declared.offer.module.partition(":")[0]}
    homes |= {tool.function.__module__ for tool in declared.tools}
    for home in sorted(homes & sys.modules.keys()):
        for name, kind in vars(sys.modules[home]).items():
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                continue
            known = issubclass(kind, CallError) or any(k in declared.errors for k in kind.__mro__)
            is_base = any(issubclass(other, kind) for other in declared.errors)
            if kind.__module__ == home and not known and not is_base:
                yield ContractFinding(
                    "errors",
                    name,
                    f"{name} stands for no error code, so a call that raises it ends in "
                    "internal_error",
                    f'name it in mcp_host_errors: {{{name}: "conflict"}}, or another of the codes',
                    "advice",
                )


async def _called_once(host: Hosted, of: Subject, log: Tracebacks) -> list[ContractFinding]:
    """Call every tool with the least it takes, by people who agree, refuse, and cannot be asked."""
    found: list[ContractFinding] = []
    for entry in own_entries(host, of, "tools"):
        listed, arguments = entry.listed, smallest(entry.listed["inputSchema"])
        name, askers = entry.name, [host]
        if entry.contribution.signature.questions:
            refusing = Person(form=lambda message, schema: None, visit=lambda about: False)
            askers += [host.seen_by(person=refusing), host.seen_by(Caller())]
        for asker in askers:
            rule = "errors" if asker is host else "questions"
            here = Path.cwd()
            outcome = await called(asker, name, arguments)
            of.note(name, outcome.code)
            if Path.cwd() != here:
                os.chdir(here)
                found.append(_moved(name))
            if rule == "questions" and outcome.code == "protocol":
                continue  # the client's own error: it cannot be asked
            found += _problems(rule, name, listed, arguments, outcome, log)
    return found


def _moved(name: str) -> ContractFinding:
    problem = "the call changes the working directory, which every pack of the process shares"
    remedy = "join paths instead; to a program that you start, give `cwd`: pack.run(…, cwd=…)"
    return ContractFinding("errors", name, problem, remedy)


def _problems(
    rule: str,
    name: str,
    listed: Mapping[str, Any],
    arguments: Mapping[str, Any],
    outcome: CallOutcome,
    log: Tracebacks,
) -> Iterator[ContractFinding]:
    for problem in broken(outcome, listed, arguments, None):
        words, remedy = cure(problem, log)
        yield ContractFinding(rule, name, words, remedy)


async def _cancelled(host: Hosted, of: Subject, log: Tracebacks) -> list[ContractFinding]:
    """Cancel a call of every tool, at once and a moment later; the pack must serve on."""
    found: list[ContractFinding] = []
    for name, listed in _tools(host, of):
        arguments = smallest(listed["inputSchema"])
        for pause in (0, 0.002):
            task = asyncio.create_task(called(host, name, arguments))
            await asyncio.sleep(pause)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        outcome = await called(host, name, arguments)
        if outcome.code in ("internal_error", "busy") and of.codes.get(name) != outcome.code:
            words, remedy = cure("after a cancelled call, the next ended in internal_error", log)
            found.append(ContractFinding("cancel", name, words, remedy))
    if not await _all_ended(host, of):
        problem = "calls go on after they were cancelled"
        remedy = "let asyncio.CancelledError through; in a plain `def`, end when context.cancelled"
        found.append(ContractFinding("cancel", "", problem, remedy))
    return found


async def _out_of_time(host: Hosted, of: Subject, log: Tracebacks) -> list[ContractFinding]:
    """Call every tool with next to no time; the answer must be an error that a client reads."""
    found: list[ContractFinding] = []
    for name, listed in _tools(host, of):
        outcome = await called(host, name, smallest(listed["inputSchema"]))
        if outcome.code == "internal_error" and of.codes.get(name) != outcome.code:
            words, remedy = cure("a call whose time ran out ended in internal_error", log)
            found.append(ContractFinding("timeout", name, words, remedy))
    if not await _all_ended(host, of):
        problem = "calls go on after their time ran out"
        remedy = (
            "pass context.remaining to what waits, such as an HTTP client's timeout; in a plain "
            "`def`, end when context.cancelled"
        )
        found.append(ContractFinding("timeout", "", problem, remedy))
    return found


async def _all_ended(host: Hosted, of: Subject) -> bool:
    """Whether no call goes on that nobody waits for."""
    for _ in range(int(PATIENCE / 0.05)):
        if host.host.packs[of.name].condition.code != _ABANDONED:
            return True
        await asyncio.sleep(0.05)
    return False


def _offered(host: Hosted, of: Subject) -> Iterator[ContractFinding]:
    """Find tools that came with the opening, where nothing says that lists change."""
    declared = host.host.packs[of.name].declared
    if declared is None or declared.needs.changes_lists:
        return
    for entry in own_entries(host, of, "tools"):
        if entry.contribution not in declared.tools:
            yield ContractFinding(
                "lists",
                entry.name,
                "the tool is offered only once the pack is open, and nothing says that the pack's "
                "lists change",
                "declare it: mcp_host_needs() returns Needs(changes_lists=True)",
            )


def _tools(host: Hosted, of: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for entry in own_entries(host, of, "tools"):
        yield entry.name, entry.listed
