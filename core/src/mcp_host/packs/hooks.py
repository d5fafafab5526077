"""The hooks of packs, a typed method for each: the one place that speaks to pluggy.

One pack is asked at a time, so that every answer has an owner. What pluggy leaves out is checked
here besides: misspelt and unmarked hooks, `async def`, answers of the wrong type.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import pluggy
from pydantic import BaseModel

from .. import hookspecs
from ..declarations.bus import OpenBus
from ..declarations.extension import Extension
from ..declarations.handle import PackHandle
from ..declarations.needs import Needs
from ..declarations.prompt import Prompt
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..errors import BY_CODE, nearest
from ..hookspecs import PROJECT
from . import deprecations
from .declared import LoadError, Offer
from .words import text, told

INSTRUCTIONS_LIMIT = 500
HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("mcp_host_"))
MAY_BE_NONE = ("mcp_host_bus", "mcp_host_acts_as")
"""Hooks whose None is an answer: a bus that the settings do not want, nobody's user."""

C = TypeVar("C", Tool, Resource, Prompt)


def _cure(plugin: object) -> str:
    """How hooks are to be written that take what they are not given."""
    for hook in HOOKS:
        own, given = getattr(plugin, hook, None), inspect.signature(getattr(hookspecs, hook))
        named = inspect.signature(own).parameters if inspect.isfunction(own) else {}
        if named.keys() - given.parameters.keys():
            takes = ", ".join(given.parameters) or "nothing"
            return f"{hook} may take these by their names: {takes}"
    return "correct the hook"


class Hooks:
    """Registers the plugin modules of packs, and asks one of them at a time.

    Every method raises `LoadError` where the pack raises, or answers with what the hook's
    signature in `hookspecs` does not allow.
    """

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._lock = threading.Lock()

    def register(self, offer: Offer, plugin: object) -> None:
        """Take in a pack's plugin; as a whole, or not at all."""
        _check_names(offer, plugin)
        with self._lock:
            if self._manager.is_registered(plugin):
                raise LoadError(
                    "hook_invalid",
                    f"{offer.module} answers for another pack already",
                    "give each pack a plugin module of its own",
                )
            try:
                self._manager.register(plugin, f"{offer.name} ({offer.distribution})")
                self._manager.check_pending()
            except (pluggy.PluginValidationError, ValueError) as error:
                if self._manager.is_registered(plugin):
                    self._manager.unregister(plugin)
                raise LoadError("hook_invalid", first_line(error), _cure(plugin)) from None

    def unregister(self, plugin: object) -> None:
        """Take a pack's plugin out again."""
        with self._lock:
            self._manager.unregister(plugin)

    def settings(self, plugin: object) -> type[BaseModel] | None:
        """Ask for the model of the pack's settings."""
        model = self._ask(plugin, "mcp_host_settings")
        if model is None:
            return None
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise _wrong("mcp_host_settings", model, "a pydantic model class")
        if not model.model_config.get("frozen"):
            raise LoadError("answer_invalid", f"the settings model {model.__name__} is not frozen")
        if hasattr(model, "reads_environment"):
            deprecations.SETTINGS_READ_ENVIRONMENT.warn(model.__module__)
        needed = [name for name, info in model.model_fields.items() if info.is_required()]
        if needed:
            raise LoadError(
                "answer_invalid",
                f"the settings model {model.__name__} has no default for {', '.join(needed)}",
                "give every field a default; say in `mcp_host_open` what is missing",
            )
        return model

    def opener(
        self, plugin: object, settings: BaseModel | None
    ) -> Callable[[PackHandle], AbstractAsyncContextManager[Any]] | None:
        """Return what opens the pack; None where it has no service."""
        if not hasattr(plugin, "mcp_host_open"):
            return None

        def opens(handle: PackHandle) -> AbstractAsyncContextManager[Any]:
            manager = _first(self._caller(plugin, "mcp_host_open")(settings=settings, pack=handle))
            if not hasattr(manager, "__aenter__"):
                raise TypeError(
                    "mcp_host_open must return an async context manager; put "
                    "@asynccontextmanager under @hookimpl"
                )
            if inspect.iscoroutine(returned := getattr(manager, "gen", None)):
                returned.close()
                raise TypeError("mcp_host_open must yield the service once, and not return it")
            return cast(AbstractAsyncContextManager[Any], manager)

        return opens

    def tools(self, plugin: object, settings: BaseModel | None) -> tuple[Tool, ...]:
        """Ask for the pack's tools."""
        return self._contributions(plugin, "mcp_host_tools", Tool, settings)

    def resources(self, plugin: object, settings: BaseModel | None) -> tuple[Resource, ...]:
        """Ask for the pack's resources and templates."""
        return self._contributions(plugin, "mcp_host_resources", Resource, settings)

    def prompts(self, plugin: object, settings: BaseModel | None) -> tuple[Prompt, ...]:
        """Ask for the pack's prompts."""
        return self._contributions(plugin, "mcp_host_prompts", Prompt, settings)

    def instructions(self, plugin: object, settings: BaseModel | None) -> str:
        """Ask what a model should know of the pack; empty where it says nothing."""
        answer = self._ask(plugin, "mcp_host_instructions", settings=settings)
        if answer is None:
            return ""
        if not isinstance(answer, str):
            raise _wrong("mcp_host_instructions", answer, "text")
        if len(answer) > INSTRUCTIONS_LIMIT:
            raise LoadError(
                "answer_invalid",
                f"mcp_host_instructions returned {len(answer)} characters; "
                f"{INSTRUCTIONS_LIMIT} are allowed",
            )
        return str.__str__(answer).strip()

    def errors(self, plugin: object) -> Mapping[type[BaseException], str]:
        """Ask which of the pack's exceptions stand for which error code."""
        answer = self._ask(plugin, "mcp_host_errors")
        if answer is None:
            return {}
        if not isinstance(answer, Mapping):
            raise _wrong("mcp_host_errors", answer, "a mapping")
        for kind, code in answer.items():
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise LoadError(
                    "answer_invalid", f"mcp_host_errors: {text(kind)} is no exception class"
                )
            if not isinstance(code, str) or code not in BY_CODE:
                raise LoadError(
                    "answer_invalid",
                    f"mcp_host_errors: {code!r} for {kind.__name__} is no error code",
                    f"known are {', '.join(BY_CODE)}",
                )
        return answer

    def acts_as_server_user(self, plugin: object) -> bool:
        """Ask whether the pack works on the server user's own files."""
        answer = self._ask(plugin, "mcp_host_acts_as")
        if answer not in (None, "server-user"):
            raise LoadError(
                "answer_invalid", f"mcp_host_acts_as returned {answer!r}; known is 'server-user'"
            )
        return answer is not None

    def extensions(self, plugin: object, settings: BaseModel | None) -> tuple[Extension, ...]:
        """Ask for the protocol extensions that the pack serves."""
        answer = self._ask(plugin, "mcp_host_extensions", settings=settings)
        if answer is None:
            return ()
        if not isinstance(answer, Sequence) or not all(isinstance(x, Extension) for x in answer):
            raise _wrong("mcp_host_extensions", answer, "a list of Extension")
        return tuple(answer)

    def bus(self, plugin: object, settings: BaseModel | None) -> OpenBus | None:
        """Ask for what opens a bus between processes; None where the pack has none."""
        answer = self._ask(plugin, "mcp_host_bus", settings=settings)
        if answer is not None and (hasattr(answer, "__aenter__") or not callable(answer)):
            raise _wrong("mcp_host_bus", answer, "a function that opens a bus")
        return cast("OpenBus | None", answer)

    def needs(self, plugin: object) -> Needs:
        """Ask what the pack needs of its process; a pack that does not answer declares nothing."""
        answer = self._ask(plugin, "mcp_host_needs")
        if answer is None:
            return Needs()
        if not isinstance(answer, Needs):
            raise _wrong("mcp_host_needs", answer, "Needs: from mcp_host import Needs")
        return answer

    def checks(self, plugin: object, settings: BaseModel | None) -> tuple[Callable[[], Any], ...]:
        """Ask for the functions that `mcp-host doctor` calls."""
        answer = self._ask(plugin, "mcp_host_checks", settings=settings)
        if answer is None:
            return ()
        if not isinstance(answer, Sequence) or not all(callable(check) for check in answer):
            raise _wrong("mcp_host_checks", answer, "a list of functions")
        return tuple(answer)

    def _contributions(
        self, plugin: object, hook: str, kind: type[C], settings: BaseModel | None
    ) -> tuple[C, ...]:
        answer = self._ask(plugin, hook, settings=settings)
        if answer is None:
            return ()
        if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Sequence):
            raise _wrong(hook, answer, f"a list of {kind.__name__}")
        for item in answer:
            if not isinstance(item, kind):
                decorator = kind.__name__.lower()
                raise LoadError(
                    "answer_invalid",
                    f"{hook} returned a list with {a(item)} in it",
                    f"make it with @{decorator}: from mcp_host import {decorator}",
                )
        return tuple(answer)

    def _ask(self, plugin: object, hook: str, **arguments: object) -> Any:
        """Return the one pack's answer; None where it has none."""
        try:
            answers = self._caller(plugin, hook)(**arguments)
        except BaseException as error:
            raise LoadError(
                "hook_failed",
                f"{hook} raised {told(error)}",
                "the log of `mcp-host serve` has the traceback",
            ) from error
        if not answers and hook not in MAY_BE_NONE and hasattr(plugin, hook):
            raise LoadError(
                "answer_invalid",
                f"{hook} returned None",
                "return what it is asked for, or leave the hook out; is a `return` missing?",
            )
        return _first(answers)

    def _caller(self, plugin: object, hook: str) -> pluggy.HookCaller:
        with self._lock:
            others = [p for p in self._manager.get_plugins() if p is not plugin]
            return self._manager.subset_hook_caller(hook, others)


def _first(answers: Sequence[Any]) -> Any:
    return answers[0] if answers else None


def _check_names(offer: Offer, plugin: object) -> None:
    """Refuse hooks without the marker, with another name than the host knows, or `async def`."""
    marked = [n for n in dir(plugin) if hasattr(getattr(plugin, n, None), f"{PROJECT}_impl")]
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        if name in HOOKS and callable(function) and name not in marked:
            raise LoadError(
                "hook_invalid",
                f"{offer.module}.{name} lacks the marker",
                "put @hookimpl above it: from mcp_host import hookimpl",
            )
    if not marked:
        raise LoadError(
            "hook_missing",
            f"{offer.source}: {offer.module} answers none of the host's questions",
            _where_hooks_are(offer, plugin) or f"implement one of {', '.join(HOOKS)}",
        )
    for name in marked:
        if name not in HOOKS:
            near = nearest(name, HOOKS)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(HOOKS)}"
            raise LoadError("hook_invalid", f"{offer.module}.{name} is no hook of the host", hint)
        function = getattr(plugin, name)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            right = (
                "put @asynccontextmanager under @hookimpl"
                if name == "mcp_host_open"
                else "write a plain `def` that returns data"
            )
            raise LoadError("hook_invalid", f"{offer.module}.{name} is `async def`", right)


def _where_hooks_are(offer: Offer, plugin: object) -> str:
    """Say which module to name in the entry point, where the package has one with hooks."""
    if not hasattr(plugin, "__path__") or find_spec(f"{offer.module}.plugin") is None:
        return ""
    return (
        f'name the module with the hooks in the entry point: {offer.name} = "{offer.module}.plugin"'
    )


def _wrong(hook: str, answer: object, right: str) -> LoadError:
    return LoadError("answer_invalid", f"{hook} returned {a(answer)}, not {right}")


def a(value: object) -> str:
    """Name a value's type with its article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def first_line(error: BaseException) -> str:
    """Return the first paragraph of an error's text in one line."""
    return " ".join(text(error).split("\n\n")[0].split())
