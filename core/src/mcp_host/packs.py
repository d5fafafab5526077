"""Finds, loads, checks and asks packs; the only room that touches pluggy's manager."""

from __future__ import annotations

import difflib
import importlib
import inspect
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import importlib_metadata
import pluggy

from . import hookspecs
from .conditions import Condition
from .contributions import Contribution, Prompt, Resource, Tool, verify
from .errors import BY_CODE, SettingsError
from .hookspecs import PROJECT
from .records import Record, fresh
from .settings import PackTable, Settings, about_project, pack_settings, project_root
from .signature import DeclarationError

if TYPE_CHECKING:
    from .running import PackHandle

log = logging.getLogger("mcp_host.packs")

GROUP = "mcp_host.packs"
PATIENCE = 1.0
"""Seconds that the first lists wait for each pack."""
INSTRUCTIONS_LIMIT = 500
HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("mcp_host_"))


class Offer(Record):
    """An installed distribution that offers a pack; read from metadata, nothing is imported."""

    name: str
    module: str
    distribution: str
    version: str


class Declared(Record):
    """What a loaded pack has declared; plain data and functions, nothing is open yet."""

    name: str
    offer: Offer
    table: PackTable
    settings: Any = None
    settings_model: type[Any] | None = None
    opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]] | None = None
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: str = ""
    errors: Mapping[type[BaseException], str] = fresh(dict)
    acts_as_server_user: bool = False
    checks: tuple[Callable[[], Any], ...] = ()


class Failure(Exception):
    """Why a pack is not served: a stable code, a reason for people, and what to do."""

    def __init__(self, code: str, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.code, self.reason, self.remedy = code, reason, remedy

    @property
    def condition(self) -> Condition:
        return Condition("failed", self.code, self.reason, self.remedy)


def discover(names: Collection[str] | None = None) -> dict[str, list[Offer]]:
    """The packs that are installed (or those of these names), with what distributions offer them.

    A distribution whose metadata is damaged is passed over, with a line in the log.
    """
    offers: dict[str, list[Offer]] = {}
    for distribution in importlib_metadata.distributions():
        for offer in _offers(distribution):
            if names is None or offer.name in names:
                known = offers.setdefault(offer.name, [])
                if offer.distribution and offer not in known:
                    known.append(offer)
    return dict(sorted(offers.items()))


def _offers(distribution: Any) -> Iterable[Offer]:
    """What one distribution offers; with no name where its metadata cannot be read.

    `importlib_metadata.entry_points` and `.version` would parse what all distributions say of
    themselves: 14 ms of each start where 130 are installed, against 3 ms.
    """
    try:
        if GROUP not in (distribution.read_text("entry_points.txt") or ""):
            return ()
        name, version = _name_and_version(distribution)
        if name:  # of several with one name, the first on the path is the one that is imported
            distribution = importlib_metadata.distribution(name)
            name, version = _name_and_version(distribution)
        points = distribution.entry_points.select(group=GROUP)
    except Exception as error:
        log.warning("the metadata of an installed distribution cannot be read: %s", error)
        return ()
    if not name:
        log.warning("the metadata behind pack %s cannot be read", ", ".join(points.names))
    return [Offer(point.name, point.value, name, version) for point in points]


def _name_and_version(distribution: Any) -> tuple[str, str]:
    """What stands before the description; both empty where one is missing."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    lines = text.partition("\n\n")[0].splitlines()
    about = {key: value for key, _, value in (line.partition(": ") for line in lines)}
    both = (about.get("Name", ""), about.get("Version", ""))
    return both if all(both) else ("", "")


def summary(offer: Offer) -> str:
    """What the distribution says it is, in a line; empty where it says nothing."""
    try:
        return importlib_metadata.metadata(offer.distribution).get("Summary") or ""
    except importlib_metadata.PackageNotFoundError:
        return ""


def chosen(name: str, table: PackTable, offers: Mapping[str, Sequence[Offer]]) -> Offer:
    """The one offer of a pack that the settings mean; `Failure` where there is none, or several."""
    found = offers.get(name, ())
    if table.distribution:
        wanted = _normal(table.distribution)
        found = [offer for offer in found if _normal(offer.distribution) == wanted]
        if not found:
            raise Failure(
                "not_installed",
                f"the distribution {table.distribution} offers no pack '{name}'",
                f"install it, or correct packs.{name}.distribution",
            )
    if not found:
        near = difflib.get_close_matches(name, discover(), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise Failure(
            "not_installed",
            f"no installed distribution offers a pack '{name}'{hint}",
            _how_to_get(name, near),
        )
    if len(found) > 1:
        names = " and ".join(sorted(offer.distribution for offer in found))
        raise Failure(
            "ambiguous",
            f"{names} both offer a pack '{name}'",
            f'choose one: distribution = "{found[0].distribution}" in [packs.{name}]',
        )
    return found[0]


def _how_to_get(name: str, near: list[str]) -> str:
    if near:
        return f"correct the name in [packs.{name}], or install the distribution that offers it"
    extra = name.replace("_", "-")
    if extra in (importlib_metadata.metadata("mcp-host").get_all("Provides-Extra") or ()):
        return f'install it: pip install "mcp-host[{extra}]"'
    return "install the distribution that offers it, in the environment that mcp-host runs in"


def _normal(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")


Outcome = Declared | Failure


class Loading:
    """Packs being loaded, each in a thread of its own so that none can hold up the others.

    `load` returns what is known after a moment's patience; whatever comes later, in time or too
    late, is told to `later`, from another thread.
    """

    def __init__(
        self,
        settings: Settings,
        later: Callable[[str, Outcome], None],
        offers: Mapping[str, Sequence[Offer]] | None = None,
    ) -> None:
        self._settings, self._later, self._offers = settings, later, offers
        self._packs = _Packs()

    def load(self) -> dict[str, Outcome | None]:
        """Load every enabled pack, in the file's order; None stands for one still loading."""
        enabled = {name: t for name, t in self._settings.packs.items() if t.enabled}
        offers = self._offers
        if offers is None:
            offers = discover(enabled.keys()) if enabled else {}
        return {name: self._one(name, table, offers) for name, table in enabled.items()}

    def _one(
        self, name: str, table: PackTable, offers: Mapping[str, Sequence[Offer]]
    ) -> Outcome | None:
        try:
            offer = chosen(name, table, offers)
        except Failure as failure:
            return failure
        limit = self._settings.host.start_timeout
        attempt = _Attempt(lambda step: self._packs.declare(offer, self._settings, step), limit)
        outcome = attempt.wait(min(PATIENCE, limit))
        if outcome is None:
            watch = threading.Thread(
                target=lambda: self._later(name, attempt.result()), daemon=True
            )
            watch.start()
        return outcome


class _Attempt:
    """Loading one pack in a thread; a step that takes over `limit` seconds is given up."""

    def __init__(self, declare: Callable[[Callable[[str], None]], Declared], limit: float) -> None:
        self._declare, self._limit = declare, limit
        self._changed = threading.Condition()
        self._step, self._steps = "starting", 0
        self._outcome: Outcome | None = None
        threading.Thread(target=self._run, name="pack-loading", daemon=True).start()

    def wait(self, seconds: float) -> Outcome | None:
        """The outcome if it is there within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._outcome is not None, seconds)
            return self._outcome

    def result(self) -> Outcome:
        """The outcome, or the failure of a step that does not end."""
        with self._changed:
            while self._outcome is None:
                before = self._steps
                moved = self._changed.wait_for(
                    lambda: self._outcome is not None or self._steps != before,  # noqa: B023
                    self._limit,
                )
                if not moved:
                    self._outcome = Failure(
                        "load_timeout",
                        f"{self._step} took longer than {self._limit:g} s",
                        "look at what the pack does at that moment, or disable it",
                    )
            return self._outcome

    def _next(self, step: str) -> None:
        with self._changed:
            self._step, self._steps = step, self._steps + 1
            self._changed.notify_all()

    def _run(self) -> None:
        outcome: Outcome
        try:
            outcome = self._declare(self._next)
        except Failure as failure:
            outcome = failure
        except BaseException as error:
            log.warning("a pack could not be loaded", exc_info=error)
            outcome = Failure(
                "load_failed",
                f"{type(error).__name__}: {error}",
                "the log of `mcp-host serve` has the traceback",
            )
        with self._changed:
            if self._outcome is None:
                self._outcome = outcome
            self._changed.notify_all()


class _Packs:
    """pluggy's manager, asked one pack at a time so that every answer has an owner."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._lock = threading.Lock()

    def declare(self, offer: Offer, settings: Settings, step: Callable[[str], None]) -> Declared:
        """Import a pack and ask it everything but to open; `Failure` says what is wrong."""
        step(f"importing {offer.module}")
        plugin = _imported(offer)
        step("reading its hooks")
        self._register(offer, plugin)
        try:
            return self._ask_all(offer, plugin, settings, step)
        except BaseException:
            with self._lock:
                self._manager.unregister(plugin)
            raise

    def _register(self, offer: Offer, plugin: Any) -> None:
        _check_hooks(offer, plugin)
        with self._lock:
            if self._manager.is_registered(plugin):
                raise Failure(
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
                raise Failure("hook_invalid", _first_line(error), "correct the hook") from None

    def _ask(self, plugin: Any, hook: str, **arguments: Any) -> Any:
        with self._lock:
            others = [p for p in self._manager.get_plugins() if p is not plugin]
            caller = self._manager.subset_hook_caller(hook, others)
        try:
            answers = caller(**arguments)
        except BaseException as error:
            raise Failure(
                "hook_failed",
                f"{hook} raised {type(error).__name__}: {error}",
                "the log of `mcp-host serve` has the traceback",
            ) from error
        return answers[0] if answers else None

    def _ask_all(
        self, offer: Offer, plugin: Any, settings: Settings, step: Callable[[str], None]
    ) -> Declared:
        name, table = offer.name, settings.packs[offer.name]
        step("asking for its settings")
        model = _settings_model(self._ask(plugin, "mcp_host_settings"))
        own = _own_settings(name, model, settings)
        given: dict[str, Any] = {"settings": own}
        step("asking for its tools, resources and prompts")
        opens = None
        if hasattr(plugin, "mcp_host_open"):
            opens = self._opener(plugin, own)
        declared = Declared(
            name=name,
            offer=offer,
            table=table,
            settings=own,
            settings_model=model,
            opens=opens,
            tools=_all(Tool, "mcp_host_tools", self._ask(plugin, "mcp_host_tools", **given)),
            resources=_all(
                Resource, "mcp_host_resources", self._ask(plugin, "mcp_host_resources", **given)
            ),
            prompts=_all(
                Prompt, "mcp_host_prompts", self._ask(plugin, "mcp_host_prompts", **given)
            ),
            instructions=_instructions(self._ask(plugin, "mcp_host_instructions", **given)),
            errors=_errors(self._ask(plugin, "mcp_host_errors")),
            acts_as_server_user=_acts_as(self._ask(plugin, "mcp_host_acts_as")),
            checks=_checks(self._ask(plugin, "mcp_host_checks", **given)),
        )
        step("reading the signatures of its tools, resources and prompts")
        _verify(declared)
        return declared

    def _opener(
        self, plugin: Any, own: Any
    ) -> Callable[[PackHandle], AbstractAsyncContextManager[Any]]:
        def opens(handle: PackHandle) -> AbstractAsyncContextManager[Any]:
            with self._lock:
                others = [p for p in self._manager.get_plugins() if p is not plugin]
                caller = self._manager.subset_hook_caller("mcp_host_open", others)
            answers = caller(settings=own, pack=handle)
            manager = answers[0] if answers else None
            if not hasattr(manager, "__aenter__"):
                raise TypeError(
                    "mcp_host_open must return an async context manager; put "
                    "@asynccontextmanager under @hookimpl"
                )
            return cast(AbstractAsyncContextManager[Any], manager)

        return opens


# -- checks that pluggy leaves out ----------------------------------------------------------------


def _imported(offer: Offer) -> Any:
    module, _, attribute = offer.module.partition(":")
    try:
        loaded: Any = importlib.import_module(module)
        for part in filter(None, attribute.split(".")):
            loaded = getattr(loaded, part)
        return loaded
    except BaseException as error:
        log.warning("pack %s could not be imported", offer.name, exc_info=error)
        raise Failure(
            "import_failed",
            f"importing {offer.module} raised {type(error).__name__}: {error}",
            f"the fault is in {offer.distribution or offer.module}; the log of `mcp-host serve` "
            "has the traceback",
        ) from error


def _check_hooks(offer: Offer, plugin: Any) -> None:
    marked = [n for n in dir(plugin) if hasattr(getattr(plugin, n, None), f"{PROJECT}_impl")]
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        if name in HOOKS and callable(function) and name not in marked:
            raise Failure(
                "hook_invalid",
                f"{offer.module}.{name} lacks the marker",
                "put @hookimpl above it: from mcp_host import hookimpl",
            )
    if not marked:
        raise Failure(
            "hook_missing",
            f"{offer.module} answers none of the host's questions",
            f"implement one of {', '.join(HOOKS)}",
        )
    for name in marked:
        if name not in HOOKS:
            near = difflib.get_close_matches(name, HOOKS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(HOOKS)}"
            raise Failure("hook_invalid", f"{offer.module}.{name} is no hook of the host", hint)
        function = getattr(plugin, name)
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            right = (
                "put @asynccontextmanager under @hookimpl"
                if name == "mcp_host_open"
                else "write a plain `def` that returns data"
            )
            raise Failure("hook_invalid", f"{offer.module}.{name} is `async def`", right)


def _settings_model(model: Any) -> type[Any] | None:
    from pydantic import BaseModel

    if model is None:
        return None
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise Failure(
            "answer_invalid",
            f"mcp_host_settings returned {_kind(model)}, not a pydantic model class",
        )
    if not model.model_config.get("frozen"):
        raise Failure("answer_invalid", f"the settings model {model.__name__} is not frozen")
    needed = [name for name, info in model.model_fields.items() if info.is_required()]
    if needed:
        raise Failure(
            "answer_invalid",
            f"the settings model {model.__name__} has no default for {', '.join(needed)}",
            "give every field a default; say in `mcp_host_open` what is missing",
        )
    return model


def _own_settings(name: str, model: type[Any] | None, settings: Settings) -> Any:
    try:
        root: Path | None = None
        if about_project(model) and not settings.packs[name].settings.get("root"):
            root = project_root(settings, name)
        return pack_settings(name, model, settings, root)
    except SettingsError as error:
        where = f" in {settings.source}" if settings.source else ""
        raise Failure("settings_invalid", str(error), f"correct it{where}") from None


def _all(kind: type[Any], hook: str, answer: Any) -> tuple[Any, ...]:
    if answer is None:
        return ()
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Sequence):
        raise Failure(
            "answer_invalid", f"{hook} returned {_kind(answer)}, not a list of {kind.__name__}"
        )
    for item in answer:
        if not isinstance(item, kind):
            decorator = kind.__name__.lower()
            raise Failure(
                "answer_invalid",
                f"{hook} returned a list with {_kind(item)} in it",
                f"make it with @{decorator}: from mcp_host import {decorator}",
            )
    return tuple(answer)


def _instructions(answer: Any) -> str:
    if answer is None:
        return ""
    if not isinstance(answer, str):
        raise Failure("answer_invalid", f"mcp_host_instructions returned {_kind(answer)}, not text")
    if len(answer) > INSTRUCTIONS_LIMIT:
        raise Failure(
            "answer_invalid",
            f"mcp_host_instructions returned {len(answer)} characters; "
            f"{INSTRUCTIONS_LIMIT} are allowed",
        )
    return answer.strip()


def _errors(answer: Any) -> Mapping[type[BaseException], str]:
    if answer is None:
        return {}
    if not isinstance(answer, Mapping):
        raise Failure("answer_invalid", f"mcp_host_errors returned {_kind(answer)}, not a mapping")
    for kind, code in answer.items():
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise Failure("answer_invalid", f"mcp_host_errors: {kind!r} is no exception class")
        if not isinstance(code, str) or code not in BY_CODE:
            known = ", ".join(BY_CODE)
            raise Failure(
                "answer_invalid",
                f"mcp_host_errors: {code!r} for {kind.__name__} is no error code",
                f"known are {known}",
            )
    return answer


def _acts_as(answer: Any) -> bool:
    if answer not in (None, "server-user"):
        raise Failure(
            "answer_invalid", f"mcp_host_acts_as returned {answer!r}; known is 'server-user'"
        )
    return answer is not None


def _checks(answer: Any) -> tuple[Callable[[], Any], ...]:
    if answer is None:
        return ()
    if not isinstance(answer, Sequence) or not all(callable(check) for check in answer):
        raise Failure(
            "answer_invalid", f"mcp_host_checks returned {_kind(answer)}, not a list of functions"
        )
    return tuple(answer)


def _verify(declared: Declared) -> None:
    contributions: tuple[Contribution, ...] = (
        *declared.tools,
        *declared.resources,
        *declared.prompts,
    )
    for contribution in contributions:
        try:
            verify(contribution, has_service=declared.opens is not None)
        except DeclarationError as error:
            raise Failure("declaration_invalid", str(error)) from error
        except Exception as error:
            raise Failure(
                "declaration_invalid",
                f"{contribution.name}: {type(error).__name__}: {_first_line(error)}",
            ) from error


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split("\n\n")[0].split())
