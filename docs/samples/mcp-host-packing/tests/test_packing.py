"""Long jobs: progress, questions, and what is begun by one call and fetched by another."""

import asyncio

import pytest
from mcp_host.testing import PackContract, Person


class TestContract(PackContract):
    pack = "packing"
    module = "mcp_host_packing"
    fuzz_examples = 1


@pytest.fixture
def mcp_host_packs(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("a long text " * 100)
    (tmp_path / "one.log").write_text("x" * 1000)
    return {"packing": "mcp_host_packing"}


@pytest.mark.anyio
async def test_many_files_are_packed_once_a_person_agreed_to_what_is_at_stake(host, tmp_path):
    person = Person()
    asked = host.seen_by(person=person)

    packed = await asked.value("packing_pack", suffix=".txt")

    assert packed["files"] == len(list(tmp_path.glob("*.txt.gz"))) == 5
    assert person.asked[0]["params"]["message"] == "Pack 5 files of 6000 bytes?"
    assert ("progress", 5, 5, "4.txt") in asked.heard.messages


@pytest.mark.anyio
async def test_few_files_need_no_question(host):
    assert (await host.value("packing_pack", suffix=".log"))["files"] == 1


@pytest.mark.anyio
async def test_a_refusal_packs_nothing(host, tmp_path):
    refusing = host.seen_by(person=Person(form=lambda message, schema: None))

    assert (await refusing.error("packing_pack"))["code"] == "cancelled"
    assert list(tmp_path.glob("*.gz")) == []


@pytest.mark.anyio
async def test_a_job_is_begun_by_one_call_and_fetched_by_another(host):
    job = await host.seen_by(person=Person()).value("packing_begin", suffix=".txt")
    while job["state"] == "running":
        job = await host.value("packing_job", job=job["job"])
        await asyncio.sleep(0)

    assert (job["state"], job["done"], job["result"]["files"]) == ("done", 5, 5)
    assert (await host.error("packing_job", job="none"))["code"] == "not_found"
