"""Who hears of what changes: this process's listeners, the lists, and other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ..middleware.cache import Cache
from ..packs.lists import Lists
from ..packs.own_pack import PACKS_URI
from ..packs.pack import Pack
from ..runtime.notices import Notice, Notices

LISTS_CHANGED = "lists"

ChangeListener = Callable[[str], None]
"""Hears the URI of a resource that changed, or `LISTS_CHANGED`; called on the host's loop."""
Wants = Callable[[str], bool]
"""Whether the change of a resource would be told to anybody; called in any thread."""


class ChangeListeners:
    """Tells listeners what changes, after what is kept of it has been forgotten.

    All methods belong to the host's loop. `packs` are those that serve, by their names; `notices`
    are what other processes are told, and tell. `are_all_heard` says in any thread whether a
    listener hears of what nobody watches, too, before the answer that follows.
    """

    def __init__(
        self, packs: Mapping[str, Pack], lists: Lists, cache: Cache, notices: Notices
    ) -> None:
        self._packs = packs
        self._lists = lists
        self._cache = cache
        self._notices = notices
        self._listeners: tuple[tuple[ChangeListener, Wants], ...] = ()
        self.are_all_heard = False

    def listen(
        self, listener: ChangeListener, wants: Wants = lambda uri: True
    ) -> Callable[[], None]:
        """Hear of changes, until the returned function is called.

        Of a resource that nobody `wants` to hear of, a listener need not be told.
        """
        one = listener, wants
        self._listeners = (*self._listeners, one)
        return partial(self._forget, one)

    def listen_to_all(self, listener: ChangeListener) -> None:
        """Hear from now on of every change before the answer that follows it, watched or not."""
        self.are_all_heard = True
        self.listen(listener)

    def is_heard(self, uri: str) -> bool:
        """Whether anything comes of it when a pack says that a resource changed; in any thread."""
        if self._cache.is_used or self._notices.are_heard:
            return True
        return any(wants(uri) for _, wants in self._listeners)

    def _forget(self, one: tuple[ChangeListener, Wants]) -> None:
        self._listeners = tuple(other for other in self._listeners if other is not one)

    def tell(self, notice: Notice) -> None:
        """Tell what a pack says has changed, here and to other processes."""
        self._take(notice)
        self._notices.tell(notice)

    def heard(self, text: str) -> None:
        """Tell here what another process tells, if a pack of this one is concerned."""
        notice = self._notices.read(text)
        if notice is not None and notice.pack in self._packs:
            self._take(notice)

    def of_condition(self) -> None:
        """A pack is in another condition: its resource tells so."""
        self._emit(PACKS_URI)

    def of_lists(self) -> None:
        """Have the lists made anew, and say so."""
        self._lists.forget()
        self._emit(LISTS_CHANGED)

    def _take(self, notice: Notice) -> None:
        if notice.uri:
            self._cache.forget(notice.pack)
            self._emit(notice.uri)
        else:
            self.of_lists()

    def _emit(self, what: str) -> None:
        for listener, _ in self._listeners:
            listener(what)
