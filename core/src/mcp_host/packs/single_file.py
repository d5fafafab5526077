"""A pack that is one file: imported by its path, and asked like any other.

What the file leaves out of the hooks for lists is made of its tools, resources and prompts. Where
nothing in it is marked as such, its public functions that say what they do are its tools.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from ..declarations.contribution import Contribution
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool, tool
from ..hookspecs import PROJECT, hookimpl
from ..startup.digests import sha256
from .declared import LoadError, Offer
from .importing import once_more

C = TypeVar("C", bound=Contribution)

MODULE = "mcp_host_file_"
"""What the name of the module begins with; the pack's own name follows."""
LISTS: dict[str, type[Contribution]] = {
    "mcp_host_tools": Tool,
    "mcp_host_resources": Resource,
    "mcp_host_prompts": Prompt,
}
SEVERAL = "a pack of several files must be a package that is installed; one file stands alone"


def offer_of_file(name: str, file: str, installed: Sequence[Offer] = ()) -> Offer:
    """Return the offer of a pack that is a file, in place of those that are installed.

    `LoadError` where it cannot be read.
    """
    digest = _digest(_read(name, file))
    others = " and ".join(sorted(offer.distribution for offer in installed))
    return Offer(name, f"{MODULE}{name}", "", "", file=file, digest=digest, instead_of=others)


def is_as_offered(offer: Offer) -> bool:
    """Return whether the file of a pack is what it was when it was loaded."""
    try:
        return _digest(Path(offer.file).read_bytes()) == offer.digest
    except OSError:
        return False


def imported_file(offer: Offer) -> ModuleType:
    """Import a pack's file as a module of its own, with the hooks that it leaves out.

    A module of that name that was there stays where this one cannot be imported. `LoadError` says
    what is wrong with the file; other exceptions are those of its code.
    """
    source = _read(offer.name, offer.file)
    module = ModuleType(offer.module)
    module.__file__ = offer.file
    before = sys.modules.get(offer.module)
    sys.modules[offer.module] = module
    try:
        code = compile(source, offer.file, "exec", dont_inherit=True)
        once_more(lambda: exec(code, module.__dict__))  # noqa: S102 - the person's own code
        _complete(module, offer)
    except BaseException as error:
        if before is None:
            del sys.modules[offer.module]
        else:
            sys.modules[offer.module] = before
        if (why := _in_plain_words(error, offer)) is not None:
            raise why from error
        raise
    return module


def _in_plain_words(error: BaseException, offer: Offer) -> LoadError | None:
    """What is wrong with the file itself; None where its code has raised something."""
    if isinstance(error, SyntaxError) and error.filename == offer.file:
        where = f"{offer.file}, line {error.lineno}"
        shown = f": {error.text.strip()}" if error.text else ""
        return LoadError("import_failed", f"{where}: {error.msg}{shown}", "correct the file")
    if isinstance(error, ValueError) and "null bytes" in str(error):
        return LoadError("import_failed", f"{offer.file} must be a file of Python", "correct it")
    if isinstance(error, ImportError) and "relative import" in str(error):
        return LoadError("import_failed", f"{offer.file} imports what lies beside it", SEVERAL)
    return None


def _read(name: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        reason, remedy = f"there is no file {file}", f"correct packs.{name}.file"
        raise LoadError("file_missing", reason, remedy) from None
    except (OSError, ValueError) as error:  # a ValueError: NUL in the name
        why = getattr(error, "strerror", None) or error
        reason, remedy = f"{file} cannot be read: {why}", f"see to it, or to packs.{name}.file"
        raise LoadError("file_unreadable", reason, remedy) from None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _complete(module: ModuleType, offer: Offer) -> None:
    """Give a module the hooks that answer with what it declares, where it has no hooks for that."""
    declared = False
    for hook, kind in LISTS.items():
        if hasattr(module, hook):
            declared = True
        elif found := contributions(module, kind):
            declared = True
            setattr(module, hook, hookimpl(_answering(found)))
    has_hooks = any(hasattr(value, f"{PROJECT}_impl") for value in vars(module).values())
    if declared or has_hooks:
        return
    plain = _plain_tools(module)
    if not plain:
        raise LoadError(
            "nothing_declared",
            f"{offer.file} declares no tool, resource or prompt",
            "put @tool above a function (from mcp_host import tool), or give it a docstring",
        )
    module.__dict__["mcp_host_tools"] = hookimpl(_answering(plain))


def _plain_tools(module: ModuleType) -> list[Tool]:
    """Tools of the public functions of a module that have a docstring, in their order."""
    functions = [value for value in vars(module).values() if isinstance(value, FunctionType)]
    return [
        tool(function)
        for function in dict.fromkeys(functions)
        if function.__module__ == module.__name__
        and function.__doc__
        and function.__name__.isidentifier()
        and not function.__name__.startswith("_")
    ]


def contributions(module: ModuleType, kind: type[C]) -> list[C]:
    """What a module declares of a kind, in its order; what it imports is somebody else's."""
    found = (value for value in vars(module).values() if isinstance(value, kind))
    own = {id(one): one for one in found if one.function.__module__ == module.__name__}
    return list(own.values())


def _answering(found: Sequence[Any]) -> Callable[[], list[Any]]:
    return lambda: list(found)
