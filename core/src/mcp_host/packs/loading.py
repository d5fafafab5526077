"""Loads packs: imports each in a thread, asks it everything but to open, and checks the answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..declarations.contribution import Contribution
from ..declarations.errors import DeclarationError
from ..errors import SettingsError
from ..settings.loading import Settings
from ..settings.pack_settings import NoProjectError, about_project, pack_settings, project_root
from ..settings.tables import PackTable
from .conditions import Condition
from .declared import Declared, LoadError, Offer, Outcome
from .discovery import chosen, discover
from .hooks import Hooks, first_line
from .importing import imported

log = logging.getLogger("mcp_host.packs")

PATIENCE = 0.8
"""Seconds that the first lists wait for packs that turn out to be slow, all of them together."""
LEAST = 0.05
"""Seconds that they wait for each pack, however many were slow before it."""

Step = Callable[[str], None]
"""Hears what is done next, in words for people."""


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
        self._settings = settings
        self._later = later
        self._offers = offers
        self._hooks = Hooks()

    def load(self) -> dict[str, Outcome | None]:
        """Load every enabled pack, in the file's order; None stands for one still loading."""
        enabled = {name: t for name, t in self._settings.packs.items() if t.enabled}
        offers = self._offers
        if offers is None:
            offers = discover(enabled.keys()) if enabled else {}
        outcomes: dict[str, Outcome | None] = {}
        patience = PATIENCE
        for name, table in enabled.items():
            allowed = max(patience, LEAST)
            outcomes[name] = self._one(name, table, offers, allowed)
            if outcomes[name] is None:
                patience -= allowed
        return outcomes

    def _one(
        self,
        name: str,
        table: PackTable,
        offers: Mapping[str, Sequence[Offer]],
        patience: float,
    ) -> Outcome | None:
        try:
            offer = chosen(name, table, offers)
        except LoadError as error:
            return error.condition
        limit = self._settings.host.start_timeout
        attempt = Attempt(lambda step: declare(offer, self._settings, self._hooks, step), limit)
        attempt.start()
        outcome = attempt.wait(min(patience, limit))
        if outcome is None:
            watch = threading.Thread(
                target=lambda: self._later(name, attempt.result()), daemon=True
            )
            watch.start()
        return outcome


class Attempt:
    """Loading one pack in a thread; a step that takes over `limit` seconds is given up."""

    def __init__(self, declare: Callable[[Step], Declared], limit: float) -> None:
        self._declare = declare
        self._limit = limit
        self._changed = threading.Condition()
        self._step = "starting"
        self._steps = 0
        self._outcome: Outcome | None = None

    def start(self) -> None:
        """Begin to load."""
        threading.Thread(target=self._run, name="pack-loading", daemon=True).start()

    def wait(self, seconds: float) -> Outcome | None:
        """Return the outcome if it is there within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._outcome is not None, seconds)
            return self._outcome

    def result(self) -> Outcome:
        """Return the outcome, or the failure of a step that does not end."""
        with self._changed:
            while self._outcome is None:
                before = self._steps
                moved = self._changed.wait_for(
                    lambda: self._outcome is not None or self._steps != before,  # noqa: B023
                    self._limit,
                )
                if not moved:
                    self._outcome = Condition(
                        "failed",
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
        except LoadError as error:
            outcome = error.condition
        except BaseException as error:
            log.warning("a pack could not be loaded", exc_info=error)
            outcome = Condition(
                "failed",
                "load_failed",
                f"{type(error).__name__}: {error}",
                "the log of `mcp-host serve` has the traceback",
            )
        with self._changed:
            if self._outcome is None:
                self._outcome = outcome
            self._changed.notify_all()


def declare(offer: Offer, settings: Settings, hooks: Hooks, step: Step) -> Declared:
    """Import a pack and ask it everything but to open; `LoadError` says what is wrong.

    What fails leaves nothing of the pack registered.
    """
    step(f"importing {offer.module}")
    plugin = _imported(offer)
    step("reading its hooks")
    hooks.register(offer, plugin)
    try:
        step("asking for its settings")
        model = hooks.settings(plugin)
        own = _own_settings(offer.name, model, settings)
        step("asking for its tools, resources and prompts")
        declared = Declared(
            name=offer.name,
            offer=offer,
            table=settings.packs[offer.name],
            settings=own,
            settings_model=model,
            opens=hooks.opener(plugin, own),
            tools=hooks.tools(plugin, own),
            resources=hooks.resources(plugin, own),
            prompts=hooks.prompts(plugin, own),
            instructions=hooks.instructions(plugin, own),
            errors=hooks.errors(plugin),
            acts_as_server_user=hooks.acts_as_server_user(plugin),
            checks=hooks.checks(plugin, own),
        )
        step("reading the signatures of its tools, resources and prompts")
        _verify(declared)
    except BaseException:
        hooks.unregister(plugin)
        raise
    return declared


def _imported(offer: Offer) -> Any:
    try:
        return imported(offer.module)
    except BaseException as error:
        log.warning("pack %s could not be imported", offer.name, exc_info=error)
        raise LoadError(
            "import_failed",
            f"importing {offer.module} raised {type(error).__name__}: {error}",
            f"the fault is in {offer.distribution or offer.module}; the log of `mcp-host serve` "
            "has the traceback",
        ) from error


def _own_settings(name: str, model: type[Any] | None, settings: Settings) -> Any:
    try:
        root: Path | None = None
        if about_project(model) and not settings.packs[name].settings.get("root"):
            root = project_root(settings, name)
        return pack_settings(name, model, settings, root)
    except NoProjectError as error:
        raise LoadError("no_project", str(error)) from None
    except SettingsError as error:
        where = f" in {settings.source}" if settings.source else ""
        raise LoadError("settings_invalid", str(error), f"correct it{where}") from None


def _verify(declared: Declared) -> None:
    contributions: list[Contribution] = [
        *declared.tools,
        *declared.resources,
        *declared.prompts,
    ]
    for contribution in contributions:
        try:
            contribution.verify(has_service=declared.opens is not None)
        except DeclarationError as error:
            raise LoadError("declaration_invalid", str(error)) from error
        except Exception as error:
            raise LoadError(
                "declaration_invalid",
                f"{contribution.name}: {type(error).__name__}: {first_line(error)}",
            ) from error
