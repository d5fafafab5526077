"""What a command line changes in the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..startup.trust import absolute
from .explaining import unknown_key
from .loading import Settings

if TYPE_CHECKING:
    import argparse

    from ..startup.options import Options
    from ..startup.worker import WorkerShare

PARTED = ("calls_per_minute", "streams", "body_bytes", "answer_bytes", "connections")
"""Keys of [http.limits] of which each worker has its part."""


def overridden(
    settings: Settings, given: Options | argparse.Namespace, worker: WorkerShare | None = None
) -> Settings:
    """The settings with what the command line says; `SettingsError` for an unknown profile.

    A `worker` has its part of the limits.
    """
    http = {"host": given.host, "port": given.port}
    host = {
        "log_level": given.log_level,
        "log_format": given.log_format,
        "root": Path(absolute(given.root)) if given.root else None,
    }
    if given.profile is not None:
        settings = profiled(settings, given.profile)
    if worker is not None:
        settings = _shared(settings, worker)
    return settings.replace(
        http=settings.http.model_copy(update={k: v for k, v in http.items() if v is not None}),
        host=settings.host.model_copy(update={k: v for k, v in host.items() if v is not None}),
    )


def _shared(settings: Settings, worker: WorkerShare) -> Settings:
    """The settings of one of several workers: no sessions, and its part of what is limited."""

    def parted(table: Any, *keys: str) -> dict[str, int]:
        given = {key: getattr(table, key) for key in keys}
        return {k: -(-v // worker.workers) for k, v in given.items() if v is not None}

    limits = settings.http.limits
    http = {
        "stateless": True,
        "limits": limits.model_copy(update=parted(limits, *PARTED)),
    }
    host = {"state_key": worker.state_key, **parted(settings.host, "max_concurrency")}
    return settings.replace(
        http=settings.http.model_copy(update=http),
        host=settings.host.model_copy(update=host),
        packs={
            name: table.model_copy(update=parted(table, "max_concurrency"))
            for name, table in settings.packs.items()
        },
        listening=worker.descriptor,
    )


def profiled(settings: Settings, name: str) -> Settings:
    """The settings as one profile has them; `SettingsError` where that or a pack is unknown."""
    if name not in settings.profiles:
        known = sorted(settings.profiles)
        said = unknown_key(name, known) if known else "there is no [profiles.NAME] in the settings"
        raise SettingsError(f"profiles.{name}: {said}")
    profile = settings.profiles[name]
    for pack in profile.packs or ():
        if pack not in settings.packs:
            said = unknown_key(pack, sorted(settings.packs))
            raise SettingsError(f"profiles.{name}.packs: {pack}: {said}")
    return settings.replace(
        packs={
            pack: table.model_copy(
                update={
                    "enabled": table.enabled and (profile.packs is None or pack in profile.packs),
                    "read_only": table.read_only or profile.read_only,
                }
            )
            for pack, table in settings.packs.items()
        }
    )
