"""The kernel holds a child's memory where the system lets us make a control group."""

import os
import signal
from pathlib import Path

import pytest
from mcp_host.packs.children import cgroups
from mcp_host.packs.children.cgroups import memory_group
from mcp_host.testing import hosted

MEBIBYTE = 2**20


def in_a_fork(group: cgroups.MemoryGroup, size: int) -> int:
    """Take so much memory in a process of the group; how the process ended."""
    child = os.fork()
    if child == 0:
        group.enter()
        bytearray(os.urandom(MEBIBYTE)) * (size // MEBIBYTE)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def group() -> cgroups.MemoryGroup:
    made = memory_group(1, 64 * MEBIBYTE)
    if made is None:
        pytest.skip("this system lets us make no control group")
    return made


def test_a_process_over_the_limit_is_ended_at_once_and_one_below_it_is_not(
    group: cgroups.MemoryGroup,
) -> None:
    try:
        assert in_a_fork(group, 8 * MEBIBYTE) == 0
        assert not group.is_over

        assert in_a_fork(group, 256 * MEBIBYTE) == -signal.SIGKILL
        assert group.is_over
    finally:
        assert group.remove()
    assert not group.folder.exists()


@pytest.mark.anyio
async def test_no_group_outlives_its_host(group: cgroups.MemoryGroup) -> None:
    parent = group.folder.parent
    group.remove()
    tables = {"packs": {"sample": {"isolation": "process", "memory": "512MiB"}}}

    async with hosted({"sample": "sample_pack.plugin"}, tables) as host:
        assert await host.value("sample_big", size=3) == "xxx"
        supervisor = host.host.inventory._the_supervisor().pid
        (made,) = parent.glob(f"{cgroups.PREFIX}{supervisor}-*")
        assert int((made / "cgroup.procs").read_text()) > 0

    assert not made.exists()


def fake(root: Path, path: str, given: str) -> Path:
    folder = root / path
    folder.mkdir(parents=True)
    (folder / "cgroup.subtree_control").write_text(given)
    return folder


def test_with_version_2_a_group_is_made_where_memory_is_given_to_groups_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    slice_of_the_user = fake(tmp_path, "app.slice", "cpu memory pids")
    own = fake(tmp_path, "app.slice/terminal.scope", "")

    assert [each for each in (own, own.parent) if cgroups._gives_memory(each)] == [
        slice_of_the_user
    ]
    assert not cgroups._gives_memory(tmp_path.parent)
