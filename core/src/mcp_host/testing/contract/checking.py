"""The check of a pack, in four stages."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from ...packs.declared import LoadError
from . import running, schemas, sources, words
from .finding import ContractFinding
from .probing import probed
from .subject import file_module, installed, subject

Stage = Literal["declared", "imported", "running", "fuzz"]
STAGES: Sequence[Stage] = ("declared", "imported", "running")
MAX_TOKENS = 2000
IMPORT_SECONDS = 1.0
IMPORT_MEBIBYTES = 64.0
_WORK = (
    "give it what it works on, by --config or PackContract.prepare, or test it by calls of your own"
)
_EXAMPLES = f'give parameters a value that fits: Field(examples=["…"]); or {_WORK}'


def check_pack(
    pack: str,
    *,
    module: str | None = None,
    file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    stages: Sequence[Stage] = STAGES,
    fuzz: int = 0,
    repeatable: bool = False,
    max_tokens: int = MAX_TOKENS,
    import_seconds: float = IMPORT_SECONDS,
    import_mebibytes: float = IMPORT_MEBIBYTES,
    prepare: Callable[[Path], None] | None = None,
) -> list[ContractFinding]:
    """Check a pack that is installed, whose plugin is `module`, or that is a single `file`.

    Return what was found.

    It is served with `settings`, in an empty folder, which `prepare(root)` may fill. Relative paths
    in `settings` start at `folder`; without it, at the empty one. With `fuzz`
    every tool is called with so many arguments of each kind, the same each time if `repeatable`.
    """
    try:
        module = module or (installed(pack) if file is None else file_module(pack))
    except LoadError as error:
        condition = error.condition
        return [ContractFinding("hooks", "", condition.reason, condition.remedy or "install it")]
    here = Path.cwd()
    with subject(pack, module, settings, file, folder) as of, contextlib.chdir(here):
        if prepare is not None:
            prepare(of.root)
        environment = dict(os.environ)
        inventory = of.inventory()
        os.chdir(here)  # where the import went elsewhere
        loaded = inventory.packs[pack]
        declared = loaded.declared
        if declared is None:
            condition = loaded.condition
            remedy = condition.remedy or "correct it"
            return [ContractFinding("hooks", "", condition.reason, remedy)]
        found: list[ContractFinding] = []
        if "declared" in stages:
            found += words.said(declared, inventory, max_tokens)
            found += schemas.portable(declared)
            found += sources.written(declared)
            found += running.mapped(declared)
        if "imported" in stages:
            limits = {"seconds": import_seconds, "mebibytes": import_mebibytes}
            found += probed(of.module, of.tables(), (here, environment), of.source, **limits)
        if "running" in stages:
            found += asyncio.run(running.run(of))
        if fuzz:
            found += asyncio.run(_fuzzing().fuzz(of, declared, fuzz, repeatable=repeatable))
        found += _unanswered(of.codes)
        return list(dict.fromkeys(found))


def _unanswered(codes: Mapping[str, str]) -> Iterator[ContractFinding]:
    """Find tools of which no call has succeeded, so that nothing is known of their answers."""
    for tool, code in codes.items():
        if code != "ok":
            yield ContractFinding(
                "answers",
                tool,
                f"no call of it succeeded (the last ended in {code}), so its answers were not "
                "checked",
                _EXAMPLES if code == "validation_error" else _WORK,
                "advice",
            )


def _fuzzing() -> ModuleType:
    try:
        from . import fuzzing  # hypothesis, which only this needs
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'calls with any arguments need {error.name}: pip install "mcp-host[dev]"'
        ) from error
    return fuzzing
