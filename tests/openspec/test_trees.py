"""One server, several trees: worktrees of the repository, and trees below the root."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from mcp_host.testing import CallFailed, StdioClient, stdio_client

pytestmark = pytest.mark.anyio

OPENSPEC = str(Path(sys.executable).with_name("openspec"))
Put = Callable[[Mapping[str, str | bytes]], Path]


def git(project: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *arguments],
        cwd=project,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(shop: Path) -> Path:
    """A repository whose tree has a change, with a worktree beside it."""
    git(shop, "init", "-q")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "all")
    git(shop, "worktree", "add", "-q", str(shop.parent / "beside"))
    return shop


async def ids(client: StdioClient, **arguments: str) -> list[str]:
    return [row["id"] for row in (await client.value("list", **arguments))["changes"]]


async def test_an_archive_in_a_worktree_leaves_the_main_tree_alone(
    server: list[str], repository: Path
) -> None:
    beside = repository.parent / "beside"
    async with stdio_client(server, cwd=repository) as client:
        done = await client.value("archive", name="add-lockout", project=str(beside))

        assert await ids(client) == ["add-lockout"]
        assert await ids(client, project="../beside") == []

    assert (beside / done["archivedTo"]).is_dir()
    assert "Lockout" in (beside / "openspec/specs/auth/spec.md").read_text()
    assert "Lockout" not in (repository / "openspec/specs/auth/spec.md").read_text()


async def test_a_tree_below_the_root_is_made_and_worked_on(
    server: list[str], repository: Path
) -> None:
    (repository / "services/billing").mkdir(parents=True)
    async with stdio_client(server, cwd=repository) as client:
        await client.value("init", project="services/billing")
        await client.value("update_project_context", content="# B", project="services/billing")
        assert (await client.value("validate", project="services/billing"))["valid"]
        with pytest.raises(CallFailed, match="Change 'add-lockout' not found"):
            await client.value("show", name="add-lockout", project="services/billing")

    assert (repository / "services/billing/openspec/project.md").read_text() == "# B\n"
    assert not (repository / "openspec/project.md").exists()


async def test_a_folder_that_is_not_of_the_repository_is_refused(
    server: list[str], repository: Path
) -> None:
    """Also one that claims to be a worktree, and one behind a link below the root."""
    other = repository.parent / "other"
    (other / "openspec/changes/secret").mkdir(parents=True)
    liar = repository.parent / "liar"
    (liar / "openspec/changes/secret").mkdir(parents=True)
    (liar / ".git").write_text(f"gitdir: {repository}/.git/worktrees/beside\n")
    (repository / "link").symlink_to(other)
    async with stdio_client(server, cwd=repository) as client:
        for project in (str(other), "../other", "link", str(liar), "/"):
            with pytest.raises(CallFailed) as failed:
                await client.value("list", project=project)
            assert failed.value.code == "permission_denied", project
        for project in ("nowhere", "a\0b", "openspec/config.yaml"):
            with pytest.raises(CallFailed) as failed:
                await client.value("list", project=project)
            assert failed.value.code == "validation_error", project


async def test_the_trees_folder_has_the_name_that_the_settings_give(
    server: list[str], put: Put, tmp_path: Path
) -> None:
    project = put({".specs/changes/one/proposal.md": "## Why\n"})
    config = tmp_path / "host.toml"
    config.write_text('[packs.openspec.settings]\nfolder = ".specs"\n')
    async with stdio_client([*server, "--config", str(config)], cwd=project) as client:
        assert await ids(client) == ["one"]
        done = await client.value("archive", name="one")

    assert done["archivedTo"].startswith(".specs/changes/archive/")
    assert (project / done["archivedTo"]).is_dir()
    assert not (project / "openspec").exists()


def test_the_command_works_where_it_is_told_to(repository: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [OPENSPEC, "list", "--json", "--project", str(repository)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["root"]["path"] == str(repository.resolve())
    missing = subprocess.run(
        [OPENSPEC, "list", "--project", "x"], cwd=tmp_path, capture_output=True
    )
    assert missing.returncode == 1
