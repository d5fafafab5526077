"""Answers go to their clients from the thread that made them, where nothing must be done before."""

import threading
from typing import Any

import pytest
from core_home import Hosting
from mcp_host.runtime.messages import Answered
from mcp_host.testing import Hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
KEPT = {"packs": {"sample": {"tools": {"count": {"cache": 60}}}}}


async def sent_at_once(host: Hosted, name: str, /, **arguments: Any) -> list[tuple[bytes, str]]:
    """What a call sent at once, and the name of the thread; it is what the call returns."""
    sent: list[tuple[bytes, str]] = []

    def at_once(answered: Answered) -> bool:
        sent.append((answered.body, threading.current_thread().name))
        return True

    context = host.host.context(host.caller)
    answered = await host.host.call_tool(name, arguments, context, at_once=at_once)
    assert all(body == answered.body for body, _ in sent)
    return sent


async def is_sent_before_it_is_heard(host: Hosted, uri: str) -> bool:
    """Whether a call that says that a resource changed is answered before that is heard of."""
    heard: list[str] = []
    sent_after: list[int] = []

    def at_once(_: Answered) -> bool:
        sent_after.append(len(heard))
        return True

    forget = host.host.changes.listen(heard.append)
    context = host.host.context(host.caller)
    await host.host.call_tool("sample_touch", {"uri": uri}, context, at_once=at_once)
    forget()
    assert heard == [uri]
    return 0 in sent_after


@pytest.mark.parametrize(
    ("tool", "thread"), [("sample_echo", "pack-sample-sync"), ("sample_count", "pack-sample")]
)
async def test_an_answer_is_sent_from_the_packs_thread(
    hosted_in_threads: Hosting, tool: str, thread: str
) -> None:
    async with hosted_in_threads(SAMPLE) as host:
        [(_, name)] = await sent_at_once(host, tool)

    assert name == thread


async def test_an_answer_waits_for_what_its_pack_said_before_to_those_who_watch(
    hosted_in_threads: Hosting,
) -> None:
    uri, watched = "sample://plain", set[str]()
    async with hosted_in_threads(SAMPLE) as host:
        assert not await is_sent_before_it_is_heard(host, uri)  # the kit hears of all
        host.host.changes.are_all_heard = False  # as clients do
        assert len(await sent_at_once(host, "sample_touch", uri=uri)) == 1
        host.host.watching.begin(watched, uri, host.caller)
        assert not await is_sent_before_it_is_heard(host, uri)


async def test_an_error_is_not_sent_before_the_host_has_judged_it(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE) as host:
        assert await sent_at_once(host, "sample_echo", number="none") == []


async def test_a_write_is_answered_once_nothing_older_is_kept(hosted_in_threads: Hosting) -> None:
    async with hosted_in_threads(SAMPLE) as host:
        assert len(await sent_at_once(host, "sample_let_go", gate="g")) == 1
    async with hosted_in_threads(SAMPLE, KEPT) as host:
        assert await sent_at_once(host, "sample_let_go", gate="g") == []
