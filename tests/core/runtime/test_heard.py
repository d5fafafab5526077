"""What a pack says has changed reaches the host only where anybody is to hear of it."""

import asyncio
from collections.abc import Sequence

import pytest
from mcp_host.host.changes import ChangeListeners
from mcp_host.middleware.cache import Cache
from mcp_host.runtime.mailbox import Mailbox
from mcp_host.runtime.notices import Notices

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Heard:
    """A `PackListener` that notes which resources have changed."""

    def __init__(self) -> None:
        self.uris: list[str] = []

    def changed(self, uri: str) -> None:
        self.uris.append(uri)

    def lists_changed(self) -> None: ...
    def heard(self, notice: str) -> None: ...
    def list_changes(self, changes: Sequence[object]) -> None: ...
    def reported(self, condition: object) -> None: ...
    def dropped(self, count: int) -> None: ...


async def test_a_change_that_nobody_hears_of_stays_with_its_pack() -> None:
    heard, wanted = Heard(), set[str]()
    mailbox = Mailbox(heard, asyncio.get_running_loop(), is_heard=wanted.__contains__)

    mailbox.changed("todo://a")
    assert not mailbox.empty()

    wanted.add("todo://a")
    mailbox.changed("todo://a")
    mailbox.changed("todo://b")
    assert mailbox.empty()
    assert heard.uris == ["todo://a"]


@pytest.mark.parametrize(
    ("cached", "bus", "wanted", "is_heard"),
    [
        (False, False, None, False),
        (False, False, "todo://b", False),
        (False, False, "todo://a", True),
        (False, True, None, True),
        (True, False, None, True),
    ],
)
def test_a_change_is_heard_of_by_a_cache_a_bus_or_whoever_wants_it(
    cached: bool, bus: bool, wanted: str | None, is_heard: bool
) -> None:
    cache = Cache()
    cache.is_used = cached
    changes = ChangeListeners({}, None, cache, Notices(lambda _: None, lambda: bus))  # type: ignore[arg-type]  # no lists are asked for
    stop = changes.listen(lambda _: None, wants=lambda uri: uri == wanted)

    assert changes.is_heard("todo://a") is is_heard
    stop()
    assert changes.is_heard("todo://a") is (cached or bus)
