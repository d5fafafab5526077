"""Broken trees and broken machines: a clear error that names the file, and nothing lost."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp_host_openspec.errors import (
    BadFileError,
    InvalidNameError,
    NotFoundError,
    NoTreeError,
    OpenSpecError,
)
from mcp_host_openspec.service import OpenSpec
from mcp_host_openspec.service.archive_plan import Options

OpenTree = Callable[[Path], OpenSpec]


def snapshot(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file()
    }


def test_a_missing_tree_says_how_to_make_one(tmp_path: Path, open_tree: OpenTree) -> None:
    openspec = open_tree(tmp_path)
    for call in (openspec.list_changes, openspec.list_specs, openspec.validate_all):
        with pytest.raises(NoTreeError, match=str(tmp_path)) as failed:
            call()
        assert "openspec init" in failed.value.suggestions[0]


@pytest.mark.parametrize("name", ["openspec", "openspec/specs", "openspec/changes"])
def test_a_file_where_a_folder_should_be_is_named(
    tmp_path: Path, open_tree: OpenTree, name: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a file")
    with pytest.raises(BadFileError, match=f"{path}: this must be a folder"):
        open_tree(tmp_path).validate_all()


def test_a_folder_where_a_file_should_be_is_named(shop: Path, open_tree: OpenTree) -> None:
    proposal = shop / "openspec/changes/add-lockout/proposal.md"
    proposal.unlink()
    proposal.mkdir()
    with pytest.raises(BadFileError, match=str(proposal)):
        open_tree(shop).change("add-lockout")


def test_a_pipe_is_never_waited_for(shop: Path, open_tree: OpenTree) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    spec.unlink()
    os.mkfifo(spec)
    with pytest.raises(BadFileError, match="not a regular file"):
        open_tree(shop).spec("auth")
    assert open_tree(shop).validate_spec("auth").findings[0].rule == "F0"


def test_a_huge_spec_is_refused_by_size_and_by_name(shop: Path, open_tree: OpenTree) -> None:
    huge = shop / "openspec/specs/huge/spec.md"
    huge.parent.mkdir()
    with huge.open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    openspec = open_tree(shop)
    (finding,) = openspec.validate_spec("huge").findings
    assert str(huge) in finding.message and "52,428,800" in finding.message
    assert {row.id: row.requirements for row in openspec.list_specs()}["huge"] == 0
    with pytest.raises(BadFileError) as failed:
        openspec.spec("huge")
    assert "max_file_bytes" in failed.value.suggestions[0]


def test_invalid_utf8_is_read_as_the_reference_tool_reads_it(
    shop: Path, open_tree: OpenTree
) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    spec.write_bytes(spec.read_bytes().replace(b"Says who", b"Says \xff who"))
    assert "Says \ufffd who" in open_tree(shop).spec("auth").purpose


def test_carriage_returns_and_a_byte_order_mark_change_no_finding(
    shop: Path, open_tree: OpenTree
) -> None:
    spec = shop / "openspec/specs/auth/spec.md"
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes().replace(b"\n", b"\r\n"))
    openspec = open_tree(shop)
    assert openspec.validate_spec("auth").findings == ()
    assert [row.requirements for row in openspec.list_specs() if row.id == "auth"] == [2]


def test_links_in_a_circle_are_named(shop: Path, open_tree: OpenTree) -> None:
    loop = shop / "openspec/specs/loop"
    loop.mkdir()
    (loop / "spec.md").symlink_to("spec.md")
    (bad,) = [row for row in open_tree(shop).list_specs() if row.problem]
    assert bad.id == "loop" and "loop/spec.md: cannot be read" in str(bad.problem)
    with pytest.raises(OpenSpecError, match=r"loop/spec\.md"):
        open_tree(shop).check_all_specs()
    (loop / "spec.md").unlink()
    (loop / "again").symlink_to(loop)
    open_tree(shop).check_all_specs()
    assert "auth" in open_tree(shop).capabilities()


def test_a_spec_in_a_circle_of_links_is_no_reason_to_stop_another_archive(
    shop: Path, open_tree: OpenTree
) -> None:
    loop = shop / "openspec/specs/loop"
    loop.mkdir()
    (loop / "spec.md").symlink_to("spec.md")
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    renamed = "- FROM: `### Requirement: Logout`\n- TO: `### Requirement: Leaving`\n"
    delta.write_text(f"{delta.read_text()}\n## RENAMED Requirements\n\n{renamed}")
    assert open_tree(shop).archive("add-lockout", Options()).specs_updated


def test_a_metadata_file_that_is_a_folder_is_a_finding_about_its_change(
    shop: Path, open_tree: OpenTree
) -> None:
    """And the list goes on, as the reference tool's does."""
    metadata = shop / "openspec/changes/add-lockout/.openspec.yaml"
    metadata.unlink()
    metadata.mkdir()
    openspec = open_tree(shop)
    assert [(row.id, row.problem) for row in openspec.list_changes()] == [("add-lockout", None)]
    (finding,) = openspec.validate_change("add-lockout").findings
    assert (finding.rule, finding.path) == ("C15", ".openspec.yaml")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "/etc", "a/b", "a\\b", "a\0b", "archive", "x" * 256, "a\nb"]
)
def test_an_id_that_can_name_no_change_is_refused(
    shop: Path, open_tree: OpenTree, name: str
) -> None:
    openspec = open_tree(shop)
    for call in (openspec.change, lambda name: openspec.archive(name, Options())):
        with pytest.raises(InvalidNameError):
            call(name)


@pytest.mark.parametrize("name", ["", "/", "..", "a/../b", "/etc/passwd", "a//b", "a\0b"])
def test_a_path_that_can_name_no_capability_is_refused(
    shop: Path, open_tree: OpenTree, name: str
) -> None:
    with pytest.raises(InvalidNameError):
        open_tree(shop).spec(name)


def test_a_name_nearly_right_is_met_with_what_was_meant(shop: Path, open_tree: OpenTree) -> None:
    with pytest.raises(NotFoundError) as failed:
        open_tree(shop).change("add-lockuot")
    assert failed.value.near == ["add-lockout"]


def test_a_change_that_is_a_link_is_not_archived(
    shop: Path, open_tree: OpenTree, tmp_path: Path
) -> None:
    (shop / "openspec/changes/linked").symlink_to(shop / "openspec/changes/add-lockout")
    with pytest.raises(OpenSpecError, match="symbolic link"):
        open_tree(shop).archive("linked", Options())


def limit_file_size() -> None:
    """Let the system refuse files over 200 bytes, as a full disk would refuse the next block."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def test_a_disk_that_is_full_in_the_middle_of_an_archive_changes_nothing(shop: Path) -> None:
    before = snapshot(shop)
    done = subprocess.run(
        [str(Path(sys.executable).with_name("openspec")), "archive", "add-lockout", "--yes"],
        cwd=shop,
        capture_output=True,
        text=True,
        preexec_fn=limit_file_size,
    )
    assert done.returncode == 1
    assert "larger than the system allows" in done.stderr
    assert str(shop) in done.stderr
    assert snapshot(shop) == before


@pytest.fixture
def public(shop: Path) -> Iterator[Path]:
    """The project where another user of the machine can read it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copytree(shop, Path(folder) / "project"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_one_may_not_write_to_is_named_and_left_alone(public: Path) -> None:
    before = snapshot(public)
    script = (
        "import os, shutil, sys\n"
        "from mcp_host_openspec.cli import main\n"
        "main(['archive', 'add-lockout', '--dry-run'])  # imports what it needs, as root\n"
        "os.setuid(65534)\n"
        "sys.exit(main(['archive', 'add-lockout', '--yes']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=public, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "not permitted" in done.stderr and str(public) in done.stderr
    assert snapshot(public) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("closed", ["specs/auth/spec.md", "specs/auth"])
def test_a_spec_one_may_not_read_is_told_of_and_the_others_are_listed(
    public: Path, closed: str
) -> None:
    (public / "openspec" / closed).chmod(0)
    seen = as_nobody(
        public,
        "print([(row.id, str(row.problem)) for row in openspec.list_specs()])\n"
        "print([(r.id, [f.message for f in r.findings]) for r in openspec.validate_all('spec')])\n",
    )
    told = f"{public / 'openspec' / closed}: cannot be read: Permission denied"
    assert seen == f"[('area/nested', 'None'), ('auth', '{told}')]\n" + (
        f"[('area/nested', []), ('auth', ['{told}'])]\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_change_one_may_not_look_into_is_told_of_and_the_others_are_listed(public: Path) -> None:
    shutil.copytree(public / "openspec/changes/add-lockout", public / "openspec/changes/closed")
    (public / "openspec/changes/closed").chmod(0)
    seen = as_nobody(
        public,
        "print([(row.id, str(row.problem)) for row in openspec.list_changes(recent_first=False)])\n"
        "print([(r.id, len(r.findings)) for r in openspec.validate_all('change')])\n",
    )
    told = f"{public / 'openspec/changes/closed'}: cannot be read: Permission denied"
    assert seen == f"[('add-lockout', 'None'), ('closed', '{told}')]\n" + (
        "[('add-lockout', 0), ('closed', 1)]\n"
    )


def as_nobody(project: Path, code: str) -> str:
    """What lines about `openspec`, the project's tree, print where another user runs them."""
    script = (
        "import os, sys, pathlib\n"
        "import mcp_host_openspec.storage.yaml12\n"
        "from mcp_host_openspec.service import OpenSpec, Root\n"
        f"openspec = OpenSpec(Root(pathlib.Path({str(project)!r}), 'configured'))\n"
        "openspec.validate_all()  # imports what it needs, as root\n"
        f"openspec = OpenSpec(openspec.root)\nos.setuid(65534)\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_context_that_is_not_utf8_is_only_ever_replaced(shop: Path, open_tree: OpenTree) -> None:
    file = shop / "openspec/project.md"
    file.write_bytes(b"\xff\xfe")
    openspec = open_tree(shop)
    with pytest.raises(BadFileError, match="not UTF-8"):
        openspec.update_context("more", merge=True)
    assert file.read_bytes() == b"\xff\xfe"
    openspec.update_context("# All new")
    assert file.read_text() == "# All new\n"


def test_what_was_parsed_is_forgotten_when_its_file_changes(
    shop: Path, open_tree: OpenTree
) -> None:
    """Also where size and time stamp stay the same."""
    spec = shop / "openspec/specs/auth/spec.md"
    openspec = open_tree(shop)
    first = openspec.spec("auth")
    assert openspec.spec("auth").blocks is first.blocks
    status = spec.stat()
    spec.write_text(spec.read_text().replace("Logout", "Tuogol"))
    os.utime(spec, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "Tuogol" in openspec.spec("auth").blocks
