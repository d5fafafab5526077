"""A person is asked before tasks go that others hang on, and reads what hangs on them."""

from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import Hosted, Person, hosted
from test_server import make, variables

pytestmark = pytest.mark.anyio
TASKY = {"tasky": "mcp_host_tasky.plugin"}


@pytest.fixture(params=["sqlite", "json"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return make(tmp_path, request.param)


async def planned(host: Hosted) -> dict[str, str]:
    tasks = [
        {"name": "Dough", "ref": "dough"},
        *({"name": name, "blockers": ["dough"]} for name in ("Bread", "Rolls", "Pizza")),
        {"name": "Sieve", "subtask_of": "dough"},
        {"name": "Tea"},
    ]
    made = await host.value("tasky_create_tasks", tasks=tasks)
    return {one["name"]: one["task_id"] for one in made}


def deleting(*ids: str) -> list[dict[str, Any]]:
    return [{"action": "delete", "task_id": one} for one in ids]


async def test_who_deletes_a_task_reads_what_waits_for_it(folder: Path) -> None:
    async with hosted(TASKY, root=folder) as host:
        ids = await planned(host)
        refusing = Person(form=lambda message, schema: {"value": False})
        refused = await host.seen_by(person=refusing).error(
            "tasky_edit_tasks", operations=deleting(ids["Dough"])
        )

        assert refusing.asked[0]["params"]["message"] == (
            "Delete? 'Dough': 3 tasks wait for this one, 1 task is a part of it."
        )
        assert refused["code"] == "cancelled"
        assert (await host.value("tasky_search_tasks"))["total"] == 6

        agreeing = host.seen_by(person=Person())
        await agreeing.value("tasky_edit_tasks", operations=deleting(ids["Dough"]))
        assert "Dough" not in str(await host.value("tasky_search_tasks"))


async def test_nobody_is_asked_where_nothing_hangs_on_it_or_nobody_can_be(folder: Path) -> None:
    async with hosted(TASKY, root=folder) as host:
        ids = await planned(host)
        person = Person()
        asked = host.seen_by(person=person)

        await asked.value("tasky_edit_tasks", operations=deleting(ids["Tea"]))
        trying = {"operations": deleting(ids["Dough"]), "dry_run": True}
        await asked.value("tasky_edit_tasks", **trying)
        wrong = await asked.error("tasky_edit_tasks", operations=deleting("nobody"))
        await host.value("tasky_edit_tasks", operations=deleting(ids["Dough"]))

        assert person.asked == []
        assert wrong["code"] == "validation_error"
