"""From a command line to a running server and its exit code; what `serve` and packs alone share.

On stdio a client's first questions are answered while the SDK is still loading, from the saved
catalogue even before the settings are read. So what this module needs later is imported where it is
needed: an import at its top would be paid before the first answer.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from . import saved, stdout
from .early import LISTS, Early, Shown
from .prelude import Prelude
from .records import Record
from .saved import Saved

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, NoReturn

    from .frames import Handover
    from .host import Host
    from .inventory import Inventory
    from .packs import Offer
    from .saved import Identity
    from .settings import Settings

    Transport = Literal["stdio", "http"]

EXIT_OK, EXIT_ERROR, EXIT_REQUIRED_PACK = 0, 1, 3
FIRST_LIMIT = 4 * 1024 * 1024
SWITCH_INTERVAL = 0.0005
"""Seconds that the loading thread may hold the interpreter while a client's answer is due."""


class Serving(Record):
    """What is to be served, and as whom; `version` is asked once the first answers are out.

    `identity` finds the saved catalogue; None does without. `alone` names the one pack of a
    stand-alone server, and `offers` where packs are without asking the metadata of all that is
    installed. `started` is the line that is written to standard error once requests can be taken.
    `variables` are the names of the environment that the command itself reads.
    """

    name: str
    version: Callable[[], str]
    transport: Transport = "stdio"
    alone: str | None = None
    title: str | None = None
    offers: Mapping[str, Sequence[Offer]] | None = None
    started: str | None = None
    identity: Identity | None = None
    variables: tuple[str, ...] = ()


def serve(what: Serving, read_settings: Callable[[], Settings]) -> NoReturn:
    """Serve until the client or a signal ends it; ends the process with its exit code."""
    gc.disable()  # nothing of what is imported goes away again; looking for it costs a tenth
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(EXIT_OK))  # there is nothing to finish yet
    code = _Start(what, read_settings).run()
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process now: a thread that hangs must not hold the exit."""
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)


class _Start:
    """One start of a server: what is loaded, in which thread, and what is answered meanwhile."""

    def __init__(self, what: Serving, read_settings: Callable[[], Settings]) -> None:
        self._what, self._read_settings = what, read_settings
        self._version = ""
        self._inventory: Inventory | None = None
        self._error: BaseException | None = None
        self._saved = Saved(None, "it is switched off")
        self._saving = threading.Lock()

    def run(self) -> int:
        try:
            if self._what.transport == "http":
                return self._serve_http()
            if sys.platform == "win32":
                return self._serve_on_windows()
            return self._serve_stdio()
        except BaseException as error:
            return _explain(error)

    # -- loading

    def _load(self) -> None:
        """Read the settings and load the packs; then `_inventory` is there."""
        from . import logs
        from .inventory import Inventory

        what = self._what
        self._version = what.version()
        settings = self._read_settings()
        logs.configure(settings.host.log_level, settings.host.log_format, settings.secrets)
        exposed = False
        if what.transport == "http":
            from .addresses import is_loopback

            refuse_open_address(settings)
            exposed = not is_loopback(settings.http.host)
        self._inventory = Inventory(settings, alone=what.alone, exposed=exposed, offers=what.offers)
        self._inventory.load()

    def _import_sdk(self) -> None:
        from . import host, server  # noqa: F401 - loaded here, used later

        if self._what.transport == "http":
            from .transports import http  # noqa: F401 - as above
        else:
            from .transports import stdio  # noqa: F401 - as above
        gc.freeze()
        gc.enable()

    # -- stdio

    def _serve_stdio(self) -> int:
        descriptors = stdout.claim()
        if self._what.identity is not None:
            self._saved = saved.read(self._what.identity)
        is_good = self._saved.shown is not None and not self._saved.refusal
        if not is_good:
            self._load()
        shown = self._saved.shown if is_good else self._shown()
        assert shown is not None
        before = self._prelude(shown, descriptors, load=is_good)
        if before is None:
            self._save()
            return EXIT_OK
        if self._error is not None:
            raise self._error
        return self._go_on(shown, before, descriptors)

    def _prelude(
        self, shown: Shown, descriptors: tuple[int, int], *, load: bool
    ) -> Handover | None:
        """Answer what can be answered while a thread loads; None where the client has left."""
        prelude = Prelude(*descriptors, FIRST_LIMIT, Early(shown), self._may_leave)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _stop(prelude))
        wake, loaded = os.pipe()
        usual = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        threading.Thread(
            target=self._finish_loading, args=(load, loaded), name="loading", daemon=True
        ).start()
        before = prelude.run(wake)
        sys.setswitchinterval(usual)
        os.close(wake)
        return before

    def _finish_loading(self, load: bool, loaded: int) -> None:
        try:
            if load:
                self._load()
            else:
                self._save()
            self._import_sdk()
        except BaseException as error:
            self._error = error
        os.write(loaded, b".")
        os.close(loaded)

    def _may_leave(self) -> bool:
        """Whether the process may end before it has loaded: not when a pack must open first."""
        if self._what.alone is not None or self._error is not None:
            return False
        if self._inventory is None:
            return not self._saved.must_stay
        return not _must_stay(self._inventory)

    def _shown(self) -> Shown:
        """What the loaded packs show first."""
        inventory, what = self._inventory, self._what
        assert inventory is not None
        from .context import Caller

        pages = {name: inventory.page(name, None, Caller()) for name in LISTS.values()}  # type: ignore[arg-type]
        return Shown(what.name, self._version, what.title, inventory.instructions, pages)

    def _save(self) -> None:
        """Save what was loaded for the next start; a pack that is still loading is waited for."""
        inventory, identity = self._inventory, self._what.identity
        if inventory is None or identity is None or inventory.is_loading:
            return
        if not inventory.settings.host.catalogue:
            return
        from .depending import dependencies

        with self._saving:
            shown = self._shown()
            if shown != self._saved.shown or self._saved.refusal:
                depends = dependencies(inventory, self._what.variables)
                saved.write(identity, shown, depends, must_stay=_must_stay(inventory))
                self._saved = Saved(shown, "")

    def _go_on(self, shown: Shown, before: Handover, descriptors: tuple[int, int]) -> int:
        """Serve with the SDK, from where the prelude left off."""
        import asyncio

        from .server import Adapter
        from .transports import stdio

        host = self._host()
        now = self._shown()
        is_stale = before.listed and now.pages != shown.pages
        if now != shown:
            _log("the saved catalogue was not what the packs now show; it is replaced")
            self._save()
        self._warn()
        _say(self._what, f"{self._what.name} {self._version} serving on stdio")
        asyncio.run(
            stdio.serve(
                host,
                lambda: self._adapter(Adapter, host, stale=is_stale),
                descriptors,
                before=before,
                at_once=lambda: leave(EXIT_OK),
            )
        )
        return _ended(host)

    def _serve_on_windows(self) -> int:
        """Over the SDK's own transport, whose descriptors Windows can wait for."""
        import asyncio

        from .transports import windows

        self._load()
        self._import_sdk()
        from .server import Adapter

        host = self._host()
        self._warn()
        _say(self._what, f"{self._what.name} {self._version} serving on stdio")
        asyncio.run(windows.serve(host, lambda: self._adapter(Adapter, host)))
        return _ended(host)

    # -- http

    def _serve_http(self) -> int:
        import asyncio

        settings = self._read_settings()
        refuse_open_address(settings)
        listening = _listening(settings)
        self._load()
        self._import_sdk()
        from .server import Adapter
        from .transports import http

        host, what = self._host(), self._what
        self._warn()
        line = f"{what.name} {self._version} listening on {http.describe(listening)}"
        asyncio.run(
            http.serve(
                host,
                lambda: self._adapter(Adapter, host),
                listening,
                ready=lambda: _say(what, line),
                at_once=lambda: leave(EXIT_OK),
            )
        )
        return _ended(host)

    def _host(self) -> Host:
        """The loaded packs, ready to be opened."""
        from .host import Host

        assert self._inventory is not None
        return Host(self._inventory)

    def _adapter(self, adapter: type, host: Host, *, stale: bool = False) -> Any:
        what = self._what
        return adapter(
            host,
            name=what.name,
            version=self._version,
            title=what.title,
            stateless=what.transport == "http" and host.settings.http.stateless,
            stale=stale,
        )

    def _warn(self) -> None:
        assert self._inventory is not None
        for warning in self._inventory.catalog.warnings:
            _log(warning)


def _must_stay(inventory: Inventory) -> bool:
    return any(pack.table.required for pack in inventory.packs.values())


def _stop(prelude: Prelude) -> None:
    """A signal while loading: whoever waits for an answer gets it, then the process ends."""
    if prelude.stopping or not prelude.owes:
        os._exit(EXIT_OK)
    prelude.stopping = True


def refuse_open_address(settings: Settings) -> None:
    """`SettingsError` where the settings would let everybody call everything."""
    from .addresses import is_loopback
    from .errors import SettingsError

    http = settings.http
    if is_loopback(http.host) or http.tokens or http.allow_unauthenticated:
        return
    raise SettingsError(
        f"refusing to listen on {http.host}: everybody who reaches it could call everything. "
        "Either set up tokens ([[http.tokens]] with token, subject and scopes), or say in so many "
        "words that nobody need be known: allow_unauthenticated = true in [http]"
    )


def _listening(settings: Settings) -> socket.socket:
    from .addresses import listen
    from .errors import SettingsError

    http = settings.http
    try:
        return listen(http.host, http.port)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {http.host}:{http.port}: {error.strerror or error}; choose another "
            "with --port (0 takes a free one)"
        ) from None


def _explain(error: BaseException) -> int:
    """The one clear line of what ended the start, and its exit code."""
    from .errors import SettingsError
    from .inventory import RequiredPackFailed

    if isinstance(error, RequiredPackFailed):
        return _fail(EXIT_REQUIRED_PACK, str(error))
    if isinstance(error, SettingsError | OSError):
        return _fail(EXIT_ERROR, str(error))
    if isinstance(error, KeyboardInterrupt):
        return EXIT_OK
    raise error


def _ended(host: Host) -> int:
    """The exit code of a host that has served; one clear line where a pack has ended it."""
    return _fail(EXIT_REQUIRED_PACK, host.fatal) if host.fatal else EXIT_OK


def _log(text: str) -> None:
    import logging

    logging.getLogger("mcp_host").warning("%s", text)


def _say(what: Serving, line: str) -> None:
    print(what.started or line, file=sys.stderr, flush=True)  # noqa: T201 - for a person who waits


def _fail(code: int, reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr, flush=True)  # noqa: T201 - the one clear line
    return code
