"""The front: this process, once it has handed its client's streams to the warm host.

It reads and writes none of them while the host lives. It passes signals on, watches the host's
heartbeat, and ends with the exit code that the host tells. Where the host is no more, it has a new
one go on, from what the journal says.
"""

from __future__ import annotations

import _socket
import os
import select
import stat
import time

from .. import saved, signals
from ..first_answers import FirstAnswers
from ..first_loop import FirstLoop
from ..flight_record import LENGTH, named
from ..handover import Handover
from ..resuming import resumed
from ..saved import FILES, SETTINGS
from . import hosts, wire
from .hosts import GreetedHost, HostLost
from .lost import sequel
from .place import HostGoneError, Place, PlaceError
from .unfinished import begun, unfinished
from .world import why_alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ..catalogue import Catalogue
    from ..saved import Saved, ServerIdentity
    from .journal import Journal

LIMIT = 4 * 1024 * 1024
"""The longest line in bytes, until the settings tell another."""
MOMENT = 5.0
"""Seconds that the end may take beside what calls and packs are granted."""
MOST_LOST = 3
"""How many hosts a session may lose in `MOST_LOST_IN` seconds, before it serves alone."""
MOST_LOST_IN = 60.0
MOST_SILENT = 1
"""How many hosts in a row may end without a word, before the session is served alone."""


class ServeAlone(Exception):
    """The session must be served by this process; the message says why."""


class NotTaken(Exception):
    """The host has read nothing of the session, and will not; the message says why."""


class SessionMoved(Exception):
    """The host has let go of the session, which another one is to go on with."""


class Front:
    """One session's front.

    `request` is what is to be served, and `saved` the catalogue of that `identity` which was found
    good.

    Invariants:

    - `before` is what has come before the next host, for it or for this process to go on with.
    - `_peer` is the socket of the host that has the streams, None while none has them; `_records`
      are then the flight records that it gave, and `_grace` the seconds that calls are granted.
    - `_ends_at` is when this process ends at the latest, once a signal was passed on.
    - `_lost_at` are the times of the hosts lost lately, `_silent` how many in a row ended without a
      word, and `_repeated` the lines that were asked of a second host already.
    - `_is_stale` says that the client may have been shown lists which have changed since.
    """

    def __init__(self, request: wire.Request, identity: ServerIdentity, saved: Saved) -> None:
        self.before = Handover()
        self._request = request
        self._identity = identity
        self._saved = saved
        self._is_stale = False
        self._silent = 0
        self._peer: _socket.socket | None = None
        self._grace = MOMENT
        self._ends_at: float | None = None
        self._lost_at: list[float] = []
        self._repeated: frozenset[bytes] = frozenset()
        self._records: list[int] = []

    def run(self) -> NoReturn:
        """Have the session served to its end, with which the process ends.

        Raises `ServeAlone` where this process must serve it, which goes on from `before`.
        """
        _check_streams()
        if why := why_alone():
            raise ServeAlone(why)
        signals.on_end(self._on_signal)
        signals.on_reload()
        try:
            while True:
                self._serve_once()
        except (OSError, PlaceError) as error:
            raise ServeAlone(str(error)) from None
        finally:
            signals.off_end(self._on_signal)

    def _serve_once(self) -> None:
        """Have one host serve; returns where it was lost, and `before` tells how to go on."""
        if self._lost_at:
            self._look_again()
        place = Place.opened()
        name = hosts.name_of(place, self._saved, self._request.environment)
        peer = hosts.connected(place, name, self._saved)
        if peer is None:
            raise ServeAlone("no host could be started")
        try:
            there = hosts.process_behind(place, name, peer)
            place.close()
            self._serve_at(peer, there)
        finally:
            peer.close()

    def _serve_at(self, peer: _socket.socket, there: int | None) -> None:
        try:
            host = self._greeted(peer, there)
        except (ConnectionError, HostGoneError) as error:
            self._silent += 1
            if self._silent > MOST_SILENT:
                raise ServeAlone(str(error)) from None
            self._lost(str(error))
            return
        self._silent = 0
        signals.pass_reload_on(host.process)
        try:
            self._serve_by(host)
        finally:
            signals.on_reload()
            os.close(host.process)

    def _look_again(self) -> None:
        """See which code and settings there are now: others than those of the lost host, perhaps.

        The next host has those; what is saved of the ones before tells enough to find it.
        """
        found = saved.look(self._identity)
        if not found.is_good and not (found.changed and {*found.changed} <= {FILES, SETTINGS}):
            raise ServeAlone(f"no saved catalogue could be used: {found.refusal}")
        self._is_stale |= not found.is_good or found.text != self._saved.text
        self._saved = found

    def _serve_by(self, host: GreetedHost) -> None:
        _write(self.before.unsent)
        self.before.unsent = b""
        journal = begun(self.before)
        try:
            self._hand_over(host, journal)
            self._watch(host)
        except NotTaken as why:
            self._lost(str(why))
        except HostLost:
            host.end()
            self._recover(journal, self._named())
        except SessionMoved:
            self._recover(journal, frozenset())
        finally:
            self._peer = None
            wire.close_all(self._records)
            self._records = []
            journal.close()

    @property
    def _catalogue(self) -> Catalogue:
        found = self._saved.opened().catalogue
        if found is None:
            raise ServeAlone("the saved catalogue is damaged")
        return found

    def _greeted(self, peer: _socket.socket, there: int | None) -> GreetedHost:
        """Wait until a host is there that may be trusted.

        Where a process is `there` already, by its descriptor, it must not be silent for long.
        Meanwhile the client's first questions are answered from the saved catalogue.
        """
        wait = select.poll()
        wait.register(peer, select.POLLIN)
        patience = hosts.PATIENCE if there is None else hosts.SILENCE
        signals.after(patience, lambda: _give_up(peer, there))
        try:
            if not wait.poll(0 if self._ends_at is not None else 15):
                self._answer_first(peer)
            heart, process = hosts.greeted(peer)
        finally:
            signals.after(0, _nothing)
            if there is not None:
                os.close(there)
        return GreetedHost(peer, process, heart, self._leave_if_due)

    def _answer_first(self, peer: _socket.socket) -> None:
        answers = FirstAnswers(self._catalogue)
        before = resumed(self.before, answers)
        loop = FirstLoop(0, 1, LIMIT, answers, self._may_leave, _nothing, before)
        signals.on_end(lambda *_: self._stop_first(loop))
        after = loop.run(peer.fileno())
        signals.on_end(self._on_signal)
        if after is None:
            os._exit(0)
        self.before = after

    def _may_leave(self) -> bool:
        return not self._saved.must_stay

    def _stop_first(self, loop: FirstLoop) -> None:
        if loop.stopping or not loop.owes:
            os._exit(0)
        loop.stopping = True

    def _hand_over(self, host: GreetedHost, journal: Journal) -> None:
        """Send the host what it is to serve; `NotTaken` where it is lost before it takes that."""
        told = self._request.__replace__(
            apart=self._saved.apart,
            code=self._saved.fingerprint[FILES],
            stale=self._is_stale and self.before.listed,
            **wire.handed_over(self.before),
        )
        peer = host.peer
        peer.settimeout(hosts.PATIENCE)
        try:
            wire.send_request(peer, told, (0, 1, 2, journal.memory, *journal.pipe))
            host.wait(hosts.PATIENCE)
            answer, ancillary, _, _ = peer.recvmsg(1, hosts.GREETING, wire.CLOSED_IN_PROGRAMS)
        except (ConnectionError, HostLost):
            host.end()
            raise NotTaken("the host has ended before it took the session") from None
        except TimeoutError:
            peer.shutdown(_socket.SHUT_RDWR)  # from now on it can take the session no more
            if peer.recv(1) == wire.ACCEPTED:
                raise HostLost from None
            raise ServeAlone("the host takes too long to open what it is to serve") from None
        self._records = wire.rights(ancillary)
        if answer == wire.REFUSED:
            raise ServeAlone(peer.recv(4096).decode("utf-8", "replace") or "the host refuses")
        if answer == wire.MOVED:
            raise NotTaken("the code of the host or of a pack was changed meanwhile")
        if answer != wire.ACCEPTED:
            host.end()
            raise NotTaken("the host has ended before it took the session")
        self._grace = int.from_bytes(host.heard(4), "big") / 1000
        self._peer = peer
        if self.before.stopping:
            self._on_signal(signals.SIGTERM, None)

    def _watch(self, host: GreetedHost) -> None:
        """Wait for the end of the session, which ends this process; `HostLost` where none comes."""
        host.wait()
        try:
            told = host.heard(2)
        except OSError:
            raise HostLost from None
        if told[:1] == wire.ENDED:
            self._leave(told[1])
        raise SessionMoved if told[:1] == wire.MOVED else HostLost

    def _on_signal(self, number: int, _frame: object) -> None:
        """Pass the first signal on; end at once on the second, and where there is no host."""
        if self._ends_at is not None or self._peer is None:
            os._exit(0)
        self._ends_at = time.monotonic() + 2 * self._grace + MOMENT
        try:
            self._peer.send(bytes([number]))
        except OSError:
            return  # it is no more, which is seen in a moment

    def _leave(self, code: int) -> NoReturn:
        os._exit(code)

    def _leave_if_due(self) -> None:
        """End this process where the host was told to end, and has had its time."""
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            self._leave(0)

    def _named(self) -> frozenset[str]:
        """The packs to which the flight record lays the end of a host."""
        try:
            return frozenset().union(
                *(named(os.pread(record, LENGTH, 0)) for record in self._records)
            )
        except OSError:
            return frozenset()

    def _recover(self, journal: Journal, guilty: frozenset[str]) -> None:
        """Give the client what it was to get, and find out how to go on.

        What `guilty` packs were to do is not asked once more.
        """
        told = journal.told
        _write(told[journal.sent :])
        found = unfinished(journal)
        owners = self._saved.owners
        then = sequel(found, self._catalogue, LIMIT, self._repeated, guilty, owners)
        if self._ends_at is not None:  # it was told to end: what could be repeated is not
            then = sequel(found, self._catalogue, LIMIT, frozenset(line for line, _ in found.open))
        for frame in then.frames:
            _write(frame)
        if self._ends_at is not None:
            self._leave(0)
        self.before = then.before
        self._repeated = then.repeated
        self._lost("one host after the other has ended")

    def _lost(self, why: str) -> None:
        """Count a lost host; raises `ServeAlone` where there were too many of them."""
        now = time.monotonic()
        self._lost_at = [at for at in self._lost_at if now - at < MOST_LOST_IN] + [now]
        if len(self._lost_at) > MOST_LOST:
            raise ServeAlone(why)


def _check_streams() -> None:
    """Only what the kernel can move bytes between can be handed over."""
    for number in (0, 1):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            raise ServeAlone("a standard stream is closed") from None
        if not stat.S_ISFIFO(mode) and not stat.S_ISSOCK(mode):
            raise ServeAlone("a standard stream is neither a pipe nor a socket")
    try:
        os.fstat(2)
    except OSError:
        raise ServeAlone("standard error is closed") from None


def _give_up(peer: _socket.socket, there: int | None) -> None:
    """Wait no more for a greeting, and end the process that does not give it."""
    if there is not None:
        hosts.end(there)
    try:
        peer.shutdown(_socket.SHUT_RDWR)
    except OSError:
        return  # it is no more


def _write(data: bytes) -> None:
    """Write to the client, which may be slow; nothing where it has gone."""
    rest = memoryview(data)
    wait = select.poll()
    wait.register(1, select.POLLOUT)
    try:
        while rest:
            wait.poll()
            rest = rest[os.write(1, rest[: select.PIPE_BUF]) :]
    except OSError:
        return


def _nothing() -> None:
    """The host loads; there is nothing to begin."""
