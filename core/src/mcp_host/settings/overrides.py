"""What a command line changes in the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..startup.trust import absolute
from .loading import Settings

if TYPE_CHECKING:
    import argparse

    from ..startup.options import Options


def overridden(settings: Settings, given: Options | argparse.Namespace) -> Settings:
    """The settings with what the command line says."""
    http = {"host": given.host, "port": given.port}
    host = {
        "log_level": given.log_level,
        "log_format": given.log_format,
        "root": Path(absolute(given.root)) if given.root else None,
    }
    return settings.replace(
        http=settings.http.model_copy(update={k: v for k, v in http.items() if v is not None}),
        host=settings.host.model_copy(update={k: v for k, v in host.items() if v is not None}),
    )
