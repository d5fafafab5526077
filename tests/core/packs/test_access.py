"""What the settings and a caller's scopes allow, on every path into a pack."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_host import Caller
from mcp_host.host import Host
from mcp_host.packs.declared import Offer
from mcp_host.packs.inventory import Inventory
from mcp_host.settings.loading import parse
from mcp_host.testing import CallFailed, Hosted, hosted

DESK = {"desk": "desk_pack.plugin"}
READER = Caller("bob", frozenset({"desk:read"}))
NOBODY = Caller("eve", frozenset())


@asynccontextmanager
async def desk(tmp_path: Any, **table: Any) -> AsyncIterator[Hosted]:
    async with hosted(DESK, {"packs": {"desk": table}}, root=tmp_path) as host:
        yield host


async def test_settings_decide_by_globs_which_tools_are_listed_and_callable(tmp_path: Any) -> None:
    async with desk(tmp_path, include=["g*", "w*", "d?aw"], exclude=["who_*"]) as host:
        names = host.names()
        greeting = await host.value("desk_greet", name="Ann")
        left_out = await host.error("desk_who_am_i")
        not_included = await host.error("desk_papers")

    assert names == ["desk_greet", "desk_draw", "desk_write"]
    assert greeting == "Hello Ann."
    assert left_out["code"] == not_included["code"] == "permission_denied"
    assert left_out["details"]["reason"] == "refused_by_settings"
    assert "exclude" in left_out["error"]


async def test_read_only_leaves_what_is_marked_so_also_for_a_caller_who_may_write(
    tmp_path: Any,
) -> None:
    async with desk(tmp_path, read_only=True) as host:
        everybody = host.seen_by(Caller("ann", frozenset({"*"})))
        names = everybody.names()
        refused = await everybody.error("desk_write", name="tax", text="0")

    assert "desk_greet" in names
    assert "desk_write" not in names
    assert "desk_shred" not in names
    assert refused["code"] == "permission_denied"


@pytest.mark.parametrize(
    ("scopes", "reads", "writes"),
    [
        (None, True, True),
        ({"*"}, True, True),
        ({"desk:write"}, True, True),
        ({"desk:read"}, True, False),
        ({"other:write", "desk:*", "desk", ""}, False, False),
        (set(), False, False),
    ],
)
async def test_scopes_decide_what_is_listed_called_read_filled_in_and_completed(
    tmp_path: Any, scopes: set[str] | None, reads: bool, writes: bool
) -> None:
    caller = Caller("ann", None if scopes is None else frozenset(scopes))
    async with desk(tmp_path) as host:
        seen = host.seen_by(caller)

        async def passes(what: Any) -> bool:
            try:
                await what
            except Exception as error:
                envelope = getattr(error, "envelope", {})
                assert envelope.get("code") == "permission_denied" or "Unknown" in str(error)
                return False
            return True

        assert ("desk_greet" in seen.names()) is reads
        assert ("desk_write" in seen.names()) is writes
        assert ("desk_tidy" in seen.names("prompts")) is reads
        assert ("desk://all" in seen.names("resources")) is reads
        assert ("desk://papers/{name}" in seen.names("resourceTemplates")) is reads
        assert await passes(seen.value("desk_greet", name="Ann")) is reads
        assert await passes(seen.value("desk_write", name="tax", text="0")) is writes
        assert await passes(seen.read("desk://papers/tax")) is reads
        assert await passes(seen.prompt("desk_tidy", shelf="top")) is reads
        ref = {"type": "ref/prompt", "name": "desk_tidy"}
        assert await passes(seen.complete(ref, "paper", "t")) is reads


async def test_what_a_caller_may_not_use_is_refused_before_its_arguments_are_looked_at(
    tmp_path: Any,
) -> None:
    async with desk(tmp_path) as host:
        refused = await host.seen_by(READER).error("desk_write", nonsense=1)
        hidden = await host.seen_by(NOBODY).error("desk_grete")

    assert refused["details"] == {"reason": "missing_scope", "scope": "desk:write"}
    assert hidden["code"] == "not_found"
    assert "suggestions" not in hidden  # a name that is near, but not for this caller


async def test_the_state_of_the_host_is_for_callers_with_a_scope_for_it(tmp_path: Any) -> None:
    async with desk(tmp_path) as host:
        with pytest.raises(CallFailed) as refused:
            await host.seen_by(READER).text("host://packs")
        told = await host.seen_by(Caller("op", frozenset({"host:read"}))).text("host://packs")

    assert refused.value.code == "permission_denied"
    assert '"desk"' in told


@pytest.mark.parametrize(("shared", "exposed"), [(False, True), (True, True), (False, False)])
async def test_a_pack_that_acts_as_the_servers_user_is_refused_beyond_loopback_unless_shared(
    tmp_path: Any, shared: bool, exposed: bool
) -> None:
    settings = parse(
        {"packs": {"desk": {"shared": shared}, "own": {"shared": shared}}},
        tmp_path / "mcp-host.toml",
    )
    offers = {
        "desk": [Offer("desk", "desk_pack.plugin", "desk", "1")],
        "own": [Offer("own", "desk_pack.acting", "own", "1")],
    }
    inventory = Inventory(settings, exposed=exposed, offers=offers)
    inventory.load()
    async with Host(inventory) as host:
        await host.settled()
        states = {report["name"]: report for report in host.report()}

    assert states["desk"]["state"] == "ready"
    if exposed and not shared:
        assert (states["own"]["state"], states["own"]["code"]) == ("failed", "not_shared")
        assert "shared = true in [packs.own]" in states["own"]["remedy"]
    else:
        assert states["own"]["state"] == "ready"
