"""Searching and reading a folder of notes."""

import pytest
from mcp_host.testing import CallFailed, PackContract


class TestContract(PackContract):
    pack = "notes"
    module = "mcp_host_notes"
    fuzz_examples = 1

    def prepare(self, root):
        (root / "a.md").write_text("one")


@pytest.fixture
def mcp_host_packs(tmp_path):
    (tmp_path / "trips").mkdir()
    (tmp_path / "trips" / "rome and back.md").write_text("# Rome\n\nTake the night train.\n")
    (tmp_path / "shopping.txt").write_text("bread\nmilk for the train\n")
    (tmp_path / ".secret.md").write_text("train")
    (tmp_path / "outside.md").symlink_to("/etc/hostname")
    return {"notes": "mcp_host_notes"}


@pytest.mark.anyio
async def test_notes_are_found_by_all_their_words_and_come_in_pages(host):
    found = await host.value("notes_search", words=["train", "ROME"])
    first = await host.value("notes_search", words=["train"], limit=1)

    assert found["result"] == [
        {
            "name": "trips/rome and back.md",
            "uri": "notes://trips/rome%20and%20back.md",
            "line": 3,
            "excerpt": "Take the night train.",
        }
    ]
    assert (first["total"], first["next_cursor"]) == (2, "1")


@pytest.mark.anyio
async def test_a_note_is_read_by_the_uri_that_the_search_gave(host):
    assert "night train" in await host.text("notes://trips/rome%20and%20back.md")


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", ".secret.md", "outside.md", "none.md"])
async def test_nothing_else_is_read(host, name):
    with pytest.raises(CallFailed):
        await host.read(f"notes://{name}")


@pytest.mark.anyio
async def test_names_are_proposed_while_a_person_types(host):
    ref = {"type": "ref/resource", "uri": "notes://{+name}"}

    assert await host.complete(ref, "name", "ROM") == ["trips/rome and back.md"]
