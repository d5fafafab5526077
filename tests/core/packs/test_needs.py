"""What a pack declares of its environment: heeded alike in threads and in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from core_home import Hosting
from mcp_host import Needs
from mcp_host.errors import McpHostError
from mcp_host.testing import environment_reads, hosted as hosted_here

pytestmark = pytest.mark.anyio

PACK = """
import os
import subprocess
import sys
from contextlib import asynccontextmanager

from mcp_host import Needs, hookimpl, tool


@tool
def read(name: str) -> str | None:
    "Read a variable."
    return os.environ.get(name)


@tool
def read_all() -> int:
    "Read every variable."
    return len(dict(os.environ))


@tool
def hand_on() -> str:
    "Run a program that gets all."
    return subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout.decode()


@tool
async def program(pack: "PackHandle", /) -> list[str]:
    "Say what a program sees."
    words = "import os; print(*sorted(os.environ))"
    return (await pack.run([sys.executable, "-c", words])).stdout.decode().split()


@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    os.environ.get("NEEDY_OPENS")
    yield pack


@hookimpl
def mcp_host_tools():
    return [read, read_all, hand_on, program]


@hookimpl
def mcp_host_needs():
    return Needs(reads_environment=["NEEDY_*"], child_environment=["GIVEN_*", "GIVEN"])
"""
NEEDY = {"needy": "needy_pack"}


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "needy_pack", raising=False)


async def test_programs_get_the_usual_variables_and_those_declared_for_them(
    hosted: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIVEN", "GIVEN_TOO", "NEEDY_OWN", "OTHER"):
        monkeypatch.setenv(name, "x")

    async with hosted(NEEDY) as host:
        seen = await host.value("needy_program")
        assert {"PATH", "GIVEN", "GIVEN_TOO"} <= set(seen)
        assert not {"NEEDY_OWN", "OTHER"} & set(seen)


async def test_a_secret_is_not_handed_on_although_it_is_declared(
    hosted: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN_TOKEN", "x" * 20)
    token = {"token": {"env": "GIVEN_TOKEN"}, "subject": "me"}

    async with hosted(NEEDY, {"http": {"tokens": [token]}}) as host:
        assert "GIVEN_TOKEN" not in await host.value("needy_program")


async def test_the_host_knows_what_a_pack_declares(hosted: Hosting) -> None:
    async with hosted(NEEDY) as host:
        declared = host.host.packs["needy"].declared

        assert declared is not None
        assert declared.needs == Needs(("NEEDY_*",), ("GIVEN_*", "GIVEN"))
        assert declared.needs.may_share


async def test_reads_that_are_not_declared_are_noted() -> None:
    with environment_reads("needy_pack") as reads:
        async with hosted_here(NEEDY) as host:
            for name in ("NEEDY_X", "HOME", "HIDDEN"):
                await host.value("needy_read", name=name)

    assert {"NEEDY_OPENS", "NEEDY_X", "HOME", "HIDDEN"} <= set(reads.names)
    assert reads.undeclared == ("HIDDEN",)


@pytest.mark.parametrize("tool", ["needy_read_all", "needy_hand_on"])
async def test_all_variables_at_once_are_noted_as_one_star(tool: str) -> None:
    with environment_reads("needy_pack") as reads:
        async with hosted_here(NEEDY) as host:
            await host.value(tool)

    assert reads.undeclared == ("*",)


def test_what_nobody_of_the_pack_reads_is_not_noted() -> None:
    with environment_reads("needy_pack") as reads:
        os.environ.get("OF_THE_TEST")
        subprocess.run([sys.executable, "-c", ""], check=True)

    assert reads.names == ()


def test_a_pack_that_declares_nothing_shares_nothing() -> None:
    assert not Needs().may_share
    assert Needs(()).may_share
    assert not Needs((), sessions="apart").may_share


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reads_environment": "HOME"}, "must be a sequence of names, not 'HOME'"),
        ({"reads_environment": ["A B"]}, "'A B' must be the name of a variable"),
        ({"child_environment": ["*"]}, "'*' must be the name of a variable"),
        ({"sessions": "both"}, "sessions must be 'shared' or 'apart'"),
        ({"sessions": "shared"}, "only where reads_environment is declared"),
    ],
)
def test_needs_that_cannot_be_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(McpHostError, match=message.replace("*", r"\*")):
        Needs(**wrong)  # type: ignore[arg-type]
