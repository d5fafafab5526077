"""The shape of a transport."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ...host import Host
    from ...settings.loading import Settings
    from ...startup.catalogue import Catalogue
    from ...startup.handover import Handover
    from ..sdk import SdkSide


class Transport:
    """One way in which clients reach a host; a start calls the methods in the order in which they
    stand here.

    A transport's module is loaded before the settings are read and before a client's first answer:
    what needs packs or the SDK, it imports in `load`.
    """

    answers_first = False
    """Whether `answer` can give first answers while the rest is being loaded."""
    has_listed = False
    """Whether a first answer was a list."""

    def claim(self, read_settings: Callable[[], Settings]) -> None:
        """Take what must be had before a pack is imported, such as a port.

        Raises `SettingsError` where it is not to be had.
        """

    def resume(self, before: Handover) -> None:
        """Go on with what another process has begun; before all else."""
        raise NotImplementedError

    def answer(
        self,
        catalogue: Catalogue,
        wake: int,
        may_leave: Callable[[], bool],
        begin: Callable[[], None],
    ) -> bool:
        """Answer what can be answered until the descriptor `wake` is readable.

        `begin` has the rest loaded; it is to be called once, when that delays no answer any more.
        `may_leave` says whether the process may end as soon as the client does. Returns False where
        the client has left and nothing is to be served any more.
        """
        raise NotImplementedError

    def load(self) -> None:
        """Import what `serve` needs; called in the thread that loads."""
        raise NotImplementedError

    def is_exposed(self, settings: Settings) -> bool:
        """Whether clients on other machines can reach the host."""
        return False

    def keeps_sessions(self, settings: Settings) -> bool:
        """Whether clients of the handshake era can be reached outside their requests."""
        return True

    @property
    def described(self) -> str:
        """Where the host is reached, for the line that says that it serves."""
        raise NotImplementedError

    async def serve(self, host: Host, sdk: SdkSide, stopping: asyncio.Event) -> None:
        """Serve an open host until its client leaves, `stopping` is set, or this is cancelled.

        Once `stopping` is set, as by a signal, calls that run get the setting `grace` to end.
        """
        raise NotImplementedError
