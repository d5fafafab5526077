"""Every promise of SECURITY.md names the tests that hold it, and they are there."""

import re
from pathlib import Path

import pytest
from docs_pages import ROOT, sections
from mcp_host.testing import hosted

PAGE = ROOT / "SECURITY.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NOT_TESTED = ("- There is no TLS", "- On loopback without tokens")
"""What is told so that nobody expects more."""
SHELLS = re.compile(r"shell=True|os\.system|os\.popen|subprocess_shell|getoutput")
LOUD = '''
from mcp_host import hookimpl, tool


@tool
def fail() -> str:
    """Fail with what nobody should read."""
    raise RuntimeError("the password is xyzzy")


@hookimpl
def mcp_host_tools():
    return [fail]
'''


@pytest.mark.parametrize("heading", ["What the host holds", "Over HTTP"])
def test_every_promise_names_tests_that_there_are(heading: str) -> None:
    promises = [line for line in sections(PAGE)[heading].splitlines() if line.startswith("- ")]

    unheld = [one for one in promises if not TEST.search(one) and not one.startswith(NOT_TESTED)]
    missing = [
        f"{file}::{name}"
        for one in promises
        for file, name in TEST.findall(one)
        if not re.search(rf"^\s*(async )?def {name}\(", text(file), re.MULTILINE)
    ]

    assert len(promises) > 5
    assert (unheld, missing) == ([], [])


def text(file: str) -> str:
    path = ROOT / file
    return path.read_text() if path.is_file() else ""


def test_nothing_is_given_to_a_shell() -> None:
    sources = [*(ROOT / "core" / "src").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")]

    assert len(sources) > 100
    found = sorted(one.name for one in sources if SHELLS.search(one.read_text()))
    # The one hears of what packs start, the other's checks of packs send such texts.
    assert found == ["one_processor.py", "probing.py"]


async def test_an_error_that_no_pack_declared_tells_clients_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_pack.py").write_text(LOUD)
    monkeypatch.syspath_prepend(tmp_path)
    async with hosted({"loud": "loud_pack"}) as host:
        envelope = await host.error("loud_fail")

    assert envelope["code"] == "internal_error"
    assert "xyzzy" not in str(envelope)
