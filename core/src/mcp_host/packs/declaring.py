"""Asks a pack everything but to open, and checks the answers; where, is for others to say."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..declarations.contribution import Contribution
from ..declarations.errors import DeclarationError
from ..errors import SettingsError
from ..settings.loading import Settings
from ..settings.pack_settings import NoProjectError, about_project, pack_settings, project_root
from ..settings.secrets import cure
from .compatibility import check_host
from .declared import Declared, LoadError, Offer
from .discovery import GROUP
from .hooks import Hooks, first_line
from .importing import imported
from .skills import find_skills
from .words import told, trace

log = logging.getLogger("mcp_host.packs")

OnStep: TypeAlias = Callable[[str], None]
"""Hears what is done next, in words for people."""


def declare(offer: Offer, settings: Settings, hooks: Hooks, step: OnStep) -> Declared:
    """Import a pack and ask it everything but to open; `LoadError` says what is wrong.

    What fails leaves nothing of the pack registered.
    """
    check_host(offer)
    step(f"importing {offer.file or offer.module}")
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
            extensions=hooks.extensions(plugin, own),
            bus=hooks.bus(plugin, own),
            needs=hooks.needs(plugin),
        )
        step("reading the signatures of its tools, resources and prompts")
        _verify(declared)
        step("finding its skills")
        declared = replace(declared, skills=find_skills(declared.file))
    except BaseException:
        hooks.unregister(plugin)
        raise
    return declared


def _imported(offer: Offer) -> Any:
    try:
        if offer.file:
            from .single_file import imported_file  # few hosts have such a pack

            return imported_file(offer)
        return imported(offer.module)
    except LoadError:
        raise
    except BaseException as error:
        of_it = {"traceback": trace(error)}
        log.warning("pack %s could not be imported", offer.name, extra=of_it)
        raise LoadError(
            "import_failed",
            f"importing {offer.file or offer.module} raised {told(error)}",
            _cure(error, offer),
        ) from error


def _cure(error: BaseException, offer: Offer) -> str:
    """What to do about an import that failed."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        own = offer.module.partition(":")[0].partition(".")[0]
        top = error.name.partition(".")[0]
        if error.name == offer.module.partition(":")[0]:
            return f"correct the entry point of the group {GROUP}: it must name a module"
        if top != own:
            return f"install {top}, and name its distribution among the dependencies of the pack"
    if isinstance(error, SystemExit):
        return "let the import raise what is wrong, such as ImportError: sys.exit() ends programs"
    if isinstance(error, KeyError) and _asked_environment(error):
        return (
            f"make {error} a setting (mcp_host_settings), which a settings file takes from the "
            f"environment by {{ env = … }}; the import must do without"
        )
    if isinstance(error, ValueError) and "signal only works in main thread" in str(error):
        return (
            "leave signals to the host; what is to be ended, end after the yield of mcp_host_open"
        )
    return f"the fault is in {offer.source}; the log of `mcp-host serve` has the traceback"


def _asked_environment(error: KeyError) -> bool:
    """Whether a variable of the environment was missing."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_globals.get("__name__") == os.__name__


def _own_settings(name: str, model: type[Any] | None, settings: Settings) -> Any:
    try:
        root: Path | None = None
        if about_project(model) and not settings.packs[name].settings.get("root"):
            root = project_root(settings, name)
        return pack_settings(name, model, settings, root)
    except NoProjectError as error:
        raise LoadError("no_project", str(error)) from None
    except SettingsError as error:
        remedy = cure(str(error), settings.source)
        raise LoadError("settings_invalid", str(error), remedy) from None


def _verify(declared: Declared) -> None:
    contributions: list[Contribution] = [
        *declared.tools,
        *declared.resources,
        *declared.prompts,
    ]
    for extension in declared.extensions:
        try:
            extension.verify()
        except DeclarationError as error:
            raise LoadError("declaration_invalid", str(error)) from error
        contributions += extension.functions
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
