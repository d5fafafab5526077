"""Names and lists: prefixes, clashes, templates, pages, and who hears of changes."""

import asyncio
import itertools
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host.testing import CallFailed, Hosted, hosted

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = pytest.mark.parametrize("protocol", [LEGACY, MODERN])
SAMPLE = {"sample": "sample_pack.plugin"}
LISTS = ("tools", "prompts", "resources", "resourceTemplates")


def settings(**packs: Any) -> dict[str, Any]:
    return {"packs": packs}


def why(host: Hosted, pack: str) -> tuple[str, str, str]:
    condition = host.host.packs[pack].condition
    return condition.code, condition.reason, condition.remedy


@pytest.mark.parametrize(
    ("prefix", "echo", "greet"),
    [
        (None, "sample_echo", "sample_greet"),
        ("other", "other_echo", "other_greet"),
        ("", "echo", "greet"),
        ("echo", "echo_echo", "echo_greet"),
    ],
)
async def test_tools_and_prompts_carry_the_prefix_and_resources_their_own_scheme(
    prefix: str | None, echo: str, greet: str
) -> None:
    table = {} if prefix is None else {"prefix": prefix}
    async with hosted(SAMPLE, settings(sample=table)) as host:
        assert host.names()[0] == echo
        assert host.names("prompts") == [greet]
        assert "sample://plain" in host.names("resources")
        assert host.listed(echo)["description"].endswith(f"{echo[: -len('echo')]}hold waits.")
        assert host.host.instructions == f"Begin with {echo}."


async def test_a_name_that_begins_with_the_prefix_is_left_alone() -> None:
    async with hosted(SAMPLE, settings(sample={"prefix": "let"})) as host:
        assert {"let_go", "let_echo"} <= set(host.names())
        assert await host.value("let_go", gate="g") == 0


async def test_in_a_clash_the_later_pack_fails_and_the_setting_that_helps_is_named() -> None:
    packs = {**SAMPLE, "again": "name_packs:same"}
    async with hosted(packs, settings(sample={}, again={"prefix": "sample"})) as host:
        code, reason, remedy = why(host, "again")

        assert code == "name_clash"
        assert reason == "again and sample both have a tool sample_echo"
        assert remedy == "set another prefix in [packs.again]"
        assert await host.value("sample_big", size=1) == "x"


async def test_two_packs_with_one_resource_clash_too_and_leave_nothing_half_registered() -> None:
    async with hosted({**SAMPLE, "again": "name_packs:same"}) as host:
        code, reason, remedy = why(host, "again")

        assert (code, "disable again or sample" in remedy) == ("name_clash", True)
        assert reason == "again and sample both have a resource sample://plain"
        assert not [name for name in host.names() if name.startswith("again")]


async def test_one_module_that_is_offered_twice_serves_the_first_pack() -> None:
    async with hosted({**SAMPLE, "again": "sample_pack.plugin"}) as host:
        assert why(host, "again")[:2] == (
            "hook_invalid",
            "sample_pack.plugin answers for another pack already",
        )
        assert await host.value("sample_big", size=1) == "x"


async def test_globs_that_match_no_tool_are_warned_of() -> None:
    table = {"include": ["ech*", "hold", "ecko"], "exclude": ["let_go_on"]}
    async with hosted(SAMPLE, settings(sample=table)) as host:
        assert host.names() == ["sample_echo", "sample_hold"]
        assert host.host.catalog.warnings == [
            "packs.sample.include: 'ecko' matches none of its tools",
            "packs.sample.exclude: 'let_go_on' matches none of its tools",
        ]


async def test_long_names_are_warned_of_and_names_over_the_limit_fail() -> None:
    prefix = "p" * 32
    odd = {"long": "name_packs:long", "endless": "name_packs:endless"}
    tables = settings(long={"prefix": prefix}, endless={"prefix": prefix})
    async with hosted(odd, tables) as host:
        (warning,) = host.host.catalog.warnings
        code, reason, remedy = why(host, "endless")

        assert "50 characters; some clients cut names of more than 49" in warning
        assert "[packs.long]" in warning
        assert code == "name_invalid"
        assert "up to 64" in reason
        assert "shorter prefix in [packs.endless]" in remedy


def test_two_distributions_that_offer_one_name_fail_it_until_the_settings_choose(
    machine: "Machine",
) -> None:
    def state(table: str) -> dict[str, Any]:
        machine.settings(f"[packs.sample]\n{table}\n")
        done = subprocess.run(
            machine.command("packs", "--json"),
            env=machine.environment(["sample", "rival"]),
            capture_output=True,
            text=True,
            check=True,
        )
        packs = {pack["name"]: pack for pack in json.loads(done.stdout)["packs"]}
        return packs["sample"]

    torn = state("")
    chosen = state('distribution = "Rival.Pack"')
    absent = state('distribution = "third-pack"')

    assert torn["code"] == "ambiguous"
    assert torn["reason"] == "rival-pack and sample-pack both offer a pack 'sample'"
    assert "in [packs.sample]" in torn["remedy"]
    assert (chosen["state"], chosen["tools"]) == ("checked", 1)
    assert absent["code"] == "not_installed"


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("sample://one/Rome", "one:Rome"),
        ("sample://one/a%2Fb", "one:a/b"),
        ("sample://one/a%252Fb", "one:a%2Fb"),
        ("sample://one/caf%C3%A9", "one:café"),
        ("sample://one/a+b", "one:a+b"),
        ("sample://all/a/b%2Fc/d", "several:a/b/c/d"),
        ("sample://all/..%2f..%2Fetc", "several:../../etc"),
    ],
)
async def test_a_template_matches_the_raw_uri_and_decodes_it_once(uri: str, text: str) -> None:
    async with hosted(SAMPLE) as host:
        assert await host.text(uri) == text


@pytest.mark.parametrize(
    "uri",
    ["sample://one/a/b", "sample://one/", "sample://one/%ff", "sample://one/a?b", "SAMPLE://plain"],
)
async def test_what_no_template_matches_is_not_found(uri: str) -> None:
    async with hosted(SAMPLE) as host:
        with pytest.raises(CallFailed) as failed:
            await host.read(uri)

        assert failed.value.code == "not_found"
        assert failed.value.envelope["uri"] == uri


@ERAS
async def test_every_list_is_paged_whole_in_order_and_without_doubles(
    machine: "Machine", protocol: str
) -> None:
    text = "[host]\npage_size = 4\n[packs.sample]\n[packs.sample.settings]\npages = 9\n"
    async with machine.serve(text, protocol=protocol) as client:
        for what, method in (*((what, f"{what}/list") for what in LISTS[:3]), TEMPLATES):
            pages = [await client.request(method)]
            while cursor := pages[-1].get("nextCursor"):
                pages.append(await client.request(method, {"cursor": cursor}))

            entries = [entry for page in pages for entry in page[what]]
            names = [e.get("uri") or e.get("uriTemplate") or e["name"] for e in entries]
            assert [len(page[what]) for page in pages[:-1]] == [4] * (len(pages) - 1)
            assert len(names) == len(set(names)) >= 10
            made_up = await client.raw_request(method, {"cursor": "made up"})
            assert made_up["error"]["code"] == -32602


TEMPLATES = ("resourceTemplates", "resources/templates/list")


@ERAS
async def test_who_asked_hears_that_lists_and_resources_changed(
    machine: "Machine", protocol: str
) -> None:
    lists = [f"notifications/{what}/list_changed" for what in ("tools", "prompts", "resources")]
    async with machine.serve(protocol=protocol) as client:
        if protocol == LEGACY:
            told = client.initialized["capabilities"]
            await client.request("resources/subscribe", {"uri": "sample://plain"})
        else:
            told = (await client.request("server/discover"))["capabilities"]
            wanted: dict[str, Any] = {
                "toolsListChanged": True,
                "promptsListChanged": True,
                "resourcesListChanged": True,
                "resourceSubscriptions": ["sample://plain"],
            }
            listen = client.frame("l", "subscriptions/listen", {"notifications": wanted})
            await client.send(listen)
            await client.notified("notifications/subscriptions/acknowledged")
        for what in ("tools", "prompts", "resources"):
            assert told[what]["listChanged"] is True
        assert told["resources"]["subscribe"] is True

        await client.value("sample_touch", uri="sample://other")
        await client.value("sample_touch", uri="sample://plain")
        await client.value("sample_change_lists")

        (updated,) = await client.notified("notifications/resources/updated")
        assert updated["params"]["uri"] == "sample://plain"
        for method in lists:
            assert len(await client.notified(method)) == 1


@ERAS
async def test_who_did_not_ask_hears_nothing_of_resources(
    machine: "Machine", protocol: str
) -> None:
    async with machine.serve(protocol=protocol) as client:
        if protocol == LEGACY:
            for method in ("subscribe", "unsubscribe"):
                await client.request(f"resources/{method}", {"uri": "sample://plain"})

        await client.value("sample_touch", uri="sample://plain")
        await client.value("sample_change_lists")
        await client.end_input()

        heard = {notice["method"] for notice in client.notifications}
        assert "notifications/resources/updated" not in heard
        assert (heard == set()) == (protocol == MODERN)


async def test_a_pack_that_fails_and_comes_back_changes_the_lists_of_its_clients(
    machine: "Machine",
) -> None:
    sign = machine.folder / "sign"
    text = (
        "[host]\nretry_after = 0.05\n[packs.sample]\n[packs.opening_comes_back]\n"
        f"[packs.opening_comes_back.settings]\nsign = {str(sign)!r}\n"
    )
    changed = "notifications/tools/list_changed"
    async with machine.serve(text) as client:
        await client.value("sample_echo")
        async with asyncio.timeout(30):  # it opens after the pack of the first call
            while await offered(client, "opening_comes_back_service"):
                continue
        before = len([n for n in client.notifications if n["method"] == changed])

        sign.write_text("a sign")

        for told in itertools.count(before + 1):  # that it failed may be told only now
            await client.notified(changed, told)
            if await offered(client, "opening_comes_back_service"):
                break


async def offered(client: Any, name: str) -> bool:
    return name in [tool["name"] for tool in await client.tools()]


@ERAS
async def test_arguments_of_a_template_are_completed(serving: Any, protocol: str) -> None:
    reference = {"type": "ref/resource", "uri": "sample://one/{name}"}
    argument = {"name": "name", "value": "R"}

    answer = await serving[protocol].request(
        "completion/complete", {"ref": reference, "argument": argument}
    )

    assert answer["completion"] == {"values": ["Rome", "Riga"], "total": 2, "hasMore": False}
