"""From settings to a running server and its exit code; what `serve` and stand-alone packs share."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from . import logs, stdout
from .errors import SettingsError
from .host import Host, RequiredPackFailed
from .packs import Offer
from .settings import Settings

log = logging.getLogger("mcp_host")

Transport = Literal["stdio", "http"]
EXIT_OK, EXIT_ERROR, EXIT_REQUIRED_PACK = 0, 1, 3


@dataclass(frozen=True)
class Serving:
    """What is to be served, and as whom.

    `alone` names the one pack of a stand-alone server; `offers` tells where packs are without
    asking the metadata of all that is installed. `started` is the line that a stand-alone server
    writes to standard error once requests can be taken.
    """

    name: str
    version: str
    transport: Transport = "stdio"
    alone: str | None = None
    title: str | None = None
    offers: Mapping[str, Sequence[Offer]] | None = None
    started: str | None = None


def serve(what: Serving, read_settings: Callable[[], Settings]) -> NoReturn:
    """Serve until the client or a signal ends it; ends the process with its exit code."""
    gc.disable()  # nothing of what is imported goes away again; looking for it costs a tenth
    _end_on_signals()
    descriptors = stdout.claim() if what.transport == "stdio" else None
    try:
        settings = read_settings()
        logs.configure(settings.host.log_level, settings.host.log_format, settings.secrets)
        if what.transport == "http":
            _refuse_open_address(settings)
        code = _serve(what, settings, descriptors)
    except (SettingsError, OSError) as error:
        code = _fail(EXIT_ERROR, str(error))
    except RequiredPackFailed as error:
        code = _fail(EXIT_REQUIRED_PACK, str(error))
    except KeyboardInterrupt:
        code = EXIT_OK
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process now: a thread that hangs must not hold the exit."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)


def refused_address(settings: Settings) -> str | None:
    """Why the settings' address may not be listened on; None where it may."""
    from .addresses import is_loopback

    http = settings.http
    if is_loopback(http.host) or http.tokens or http.allow_unauthenticated:
        return None
    return (
        f"refusing to listen on {http.host}: everybody who reaches it could call everything. "
        "Either set up tokens ([[http.tokens]] with token, subject and scopes), or say in so many "
        "words that nobody need be known: allow_unauthenticated = true in [http]"
    )


def _refuse_open_address(settings: Settings) -> None:
    reason = refused_address(settings)
    if reason is not None:
        raise SettingsError(reason)


def _serve(what: Serving, settings: Settings, descriptors: tuple[int, int] | None) -> int:
    from .addresses import is_loopback

    exposed = what.transport == "http" and not is_loopback(settings.http.host)
    listening = None
    if what.transport == "http":
        from .transports import http

        try:
            listening = http.listen(settings.http.host, settings.http.port)
        except OSError as error:
            where = f"{settings.http.host}:{settings.http.port}"
            raise SettingsError(
                f"cannot listen on {where}: {error.strerror or error}; choose another with --port "
                "(0 takes a free one)"
            ) from None
    host = Host(settings, alone=what.alone, exposed=exposed, offers=what.offers)
    host.load()
    for warning in host.catalog.warnings:
        log.warning("%s", warning)

    from .server import Adapter

    def make_adapter() -> Adapter:
        return Adapter(
            host,
            name=what.name,
            version=what.version,
            title=what.title,
            stateless=what.transport == "http" and settings.http.stateless,
        )

    gc.freeze()
    gc.enable()
    at_once = lambda: leave(EXIT_OK)  # noqa: E731
    if listening is not None:
        from .transports import http

        url = http.describe(listening)
        ready = lambda: _say(what, f"{what.name} {what.version} listening on {url}")  # noqa: E731
        code = asyncio.run(http.serve(host, make_adapter, listening, ready=ready, at_once=at_once))
    else:
        from .transports import stdio

        assert descriptors is not None
        ready = lambda: _say(what, f"{what.name} {what.version} serving on stdio")  # noqa: E731
        code = asyncio.run(
            stdio.serve(host, make_adapter, descriptors, ready=ready, at_once=at_once)
        )
    if host.fatal:
        _fail(code, host.fatal)
    return code


def _say(what: Serving, line: str) -> None:
    print(what.started or line, file=sys.stderr, flush=True)  # noqa: T201 - for a person who waits


def _fail(code: int, reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr, flush=True)  # noqa: T201 - the one clear line
    return code


def _end_on_signals() -> None:
    """Until requests are taken there is nothing to finish: a signal ends the process with 0."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(EXIT_OK))


def with_root(settings: Settings, root: Path | None) -> Settings:
    """The settings with another project root, where one is given."""
    if root is None:
        return settings
    return settings.replace(host=settings.host.model_copy(update={"root": root.absolute()}))
