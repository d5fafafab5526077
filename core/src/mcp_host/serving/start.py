"""From a command line to a running server and its exit code; what `serve` and packs alone share.

A client's first questions may be answered while the SDK is still loading, from the saved catalogue
even before the settings are read. So what this module needs later is imported where it is needed:
an import at its top would be paid before the first answer.
"""

from __future__ import annotations

import gc
import os
import sys
import threading

from ..startup import saved, signals
from ..startup.saved import Saved
from .serving import EXIT_ERROR, EXIT_OK, EXIT_REQUIRED_PACK, SWITCH_INTERVAL, Serving, failed
from .transports import TRANSPORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from ..settings.loading import Settings
    from ..startup.catalogue import Catalogue
    from .loading import Loaded
    from .saving import Saving


def serve(what: Serving, read_settings: Callable[[], Settings]) -> NoReturn:
    """Serve until the client or a signal ends it; ends the process with its exit code."""
    gc.disable()  # nothing of what is imported goes away again; looking for it costs a tenth
    signals.on_end(lambda *_: os._exit(EXIT_OK))  # there is nothing to finish yet
    if what.read_again is not None:
        signals.on_reload()
    try:
        code = _Start(what, read_settings).run()
    except BaseException as error:
        code = _explained(error)
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process now: a thread that hangs must not hold the exit."""
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # noqa: S112 - whatever a pack has put in its place
            continue
    os._exit(code)


class _Start:
    """One start of a server.

    The main thread answers a client's first questions while the thread "loading" loads the rest.
    That thread sets `_error`, which the main thread reads when it has been woken, and `_saving` and
    then `_loaded`, unless the main thread had to; once set, both are read at any time. Where the
    transport gives no first answers, the main thread does both, one after the other. `_shown` is
    the catalogue that the first answers were given from; None where none were given.
    """

    def __init__(self, what: Serving, read_settings: Callable[[], Settings]) -> None:
        self._what = what
        self._read_settings = read_settings
        self._transport = TRANSPORTS[what.transport]()
        if what.before is not None:
            self._transport.resume(what.before)
        self._loaded: Loaded | None = None
        self._saving: Saving | None = None
        self._error: BaseException | None = None
        self._shown: Catalogue | None = None
        self._saved = Saved(None, "it is switched off")

    def run(self) -> int:
        """Claim what the transport needs, load and answer at once, then serve."""
        self._transport.claim(self._read_settings)
        if not self._transport.answers_first:
            self._import_sdk(self._load())
        elif not self._answer_while_loading():
            return EXIT_OK
        from .served_host import ServedHost

        assert self._loaded is not None and self._saving is not None
        served = ServedHost(self._what, self._transport, self._loaded, self._saving, self._shown)
        return served.run()

    def _load(self) -> Loaded:
        """Read the settings and load the packs; then `_loaded` is there."""
        from ..settings.borrowed import import_pydantic

        import_pydantic()
        from .loading import load
        from .saving import Saving

        loaded = load(self._what, self._read_settings, self._transport)
        self._saving = Saving(self._what, loaded, self._saved)
        self._loaded = loaded
        return loaded

    def _answer_while_loading(self) -> bool:
        """Answer what can be answered while a thread loads; False where the client has left."""
        if self._what.saved is not None:
            self._saved = self._what.saved
        elif self._what.identity is not None:
            self._saved = saved.read(self._what.identity)
        if self._saved.is_good:
            self._shown = self._saved.catalogue
        else:
            self._shown = self._load().catalogue()
        assert self._shown is not None
        wake, done = os.pipe()
        sys.setswitchinterval(SWITCH_INTERVAL)
        loading = threading.Thread(
            target=self._load_the_rest, args=(done,), name="loading", daemon=True
        )
        stays = self._transport.answer(self._shown, wake, self._may_leave, loading.start)
        os.close(wake)
        if not stays:
            if self._saving is not None:
                self._saving.save()
        elif self._error is not None:
            raise self._error
        return stays

    def _load_the_rest(self, done: int) -> None:
        try:
            loaded = self._loaded
            if loaded is None:
                loaded = self._load()
            elif self._saving is not None:
                self._saving.save()
            self._import_sdk(loaded)
        except BaseException as error:
            self._error = error
        os.write(done, b".")
        os.close(done)

    def _import_sdk(self, loaded: Loaded) -> None:
        """Import what serving needs, also where a pack that loads late imports the same."""
        from ..packs.importing import once_more
        from ..runtime.collector import Collector  # the lists do without
        from . import logs

        once_more(lambda: self._import_all(loaded.settings))
        logs.keep_ours()
        gc.freeze()
        Collector().start()

    def _import_all(self, settings: Settings) -> None:
        from . import (
            sdk,  # noqa: F401 - loaded here, used later
            served_host,  # noqa: F401 - as above
        )

        if settings.host.telemetry or (self._what.transport == "http" and settings.http.metrics):
            from . import telemetry

            telemetry.set_up(settings)
        from .lane.lane import is_lane_on

        if not is_lane_on(settings):
            from . import adapter  # noqa: F401 - every call needs it

        self._transport.load()

    def _may_leave(self) -> bool:
        """Whether the process may end before it has loaded: not when a pack must open first."""
        if self._what.alone is not None or self._error is not None:
            return False
        if self._loaded is None:
            return not self._saved.must_stay
        return not self._loaded.must_stay


def _explained(error: BaseException) -> int:
    """The exit code of what ended the start, which one clear line explains."""
    from ..errors import SettingsError
    from ..packs.inventory import RequiredPackError

    if isinstance(error, RequiredPackError):
        return failed(EXIT_REQUIRED_PACK, str(error))
    if isinstance(error, SettingsError | OSError):
        return failed(EXIT_ERROR, str(error))
    if isinstance(error, KeyboardInterrupt):
        return EXIT_OK
    raise error
