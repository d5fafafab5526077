"""A person is asked before a task is completed of which something is not submitted."""

from pathlib import Path

import pytest
from cortex_lab import Ctx, Repo
from mcp_host.testing import Person, hosted

pytestmark = pytest.mark.anyio
CORTEX = {"cortex": "mcp_host_cortex_tasks.plugin"}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_who_completes_a_task_reads_what_is_not_submitted(
    ctx: Ctx, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(ctx.home))
    number = ctx.new("Sieve")
    ctx.json("tasks", "start", str(number), at=repo.folder)
    async with hosted(CORTEX, root=repo.folder) as host:
        person = Person(form=lambda message, schema: {"value": False})
        asked = host.seen_by(person=person)
        first = await asked.error("cortex_complete_task", task_id=number)
        assert person.asked == []
        assert first["code"] == "conflict"  # nothing of it is done, and nothing is at stake

        repo.write("new.txt")
        before = everything(repo.folder)
        refused = await asked.error("cortex_complete_task", task_id=number)

        assert everything(repo.folder) == before  # who asks writes nothing
        assert person.asked[0]["params"]["message"] == f"Complete task {number}? 1 file is new."
        assert refused["code"] == "cancelled"
