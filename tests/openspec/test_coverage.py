"""Specs that know the code: markers in tests, reports of their runs, and what they cover."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import stdio_client
from mcp_host_openspec.model.markers import markers_in

OPENSPEC = str(Path(sys.executable).with_name("openspec"))
Put = Callable[[Mapping[str, str | bytes]], Path]

SPEC = """\
# Auth

## Purpose
Says who may use the system, and how people prove who they are to it.

## Requirements

### Requirement: User login
The system SHALL ask for a password.

#### Scenario: Right password
- **WHEN** it is right
- **THEN** the person is let in

#### Scenario: Wrong password
- **WHEN** it is wrong
- **THEN** the person is turned away

### Requirement: Logout
The system SHALL end a session.

#### Scenario: Ok
- **WHEN** a person logs out
- **THEN** the session ends
"""
TESTS = {
    "tests/test_login.py": """\
# spec:auth#right-password
def test_login():
    assert True


def test_wrong():
    \"\"\"spec:auth/user-login#"Wrong password" \"\"\"


@pytest.mark.spec("auth/logout#Ok")
@pytest.mark.parametrize("x", [1, 2])
def test_logout(x):
    pass


def test_old():  # spec:auth#Captcha
    pass
""",
    "web/login.test.ts": "it('says hello', () => {  // spec:area/auth#Ok\n})\n",
    "src/auth.py": "# spec:auth#nowhere, which is no test\n",
    "node_modules/x/test/a.js": "// spec:auth#Captcha\n",
}
REPORT = """\
<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
<testcase classname="tests.test_login" name="test_login" time="0.1"/>
<testcase classname="tests.test_login" name="test_wrong"><failure message="no"/></testcase>
<testcase classname="tests.test_login" name="test_logout[1]"/>
<testcase classname="tests.test_login" name="test_logout[2]"/>
<testcase classname="web.login.test.ts" name="Login › says hello"><skipped/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def project(put: Put) -> Path:
    specs = {f"openspec/specs/{name}/spec.md": SPEC for name in ("auth", "area/auth")}
    return put({**specs, **TESTS, "report.xml": REPORT})


def coverage(project: Path, *arguments: str, code: int = 0) -> Any:
    command = [OPENSPEC, "coverage", *arguments, "--json"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_scenarios_that_tests_name_are_covered(project: Path) -> None:
    told = coverage(project)
    rows = {(row["capability"], row["requirement"]): row for row in told["requirements"]}
    assert rows["auth", "User login"]["missing"] == []
    assert rows["auth", "User login"]["tests"]["Right password"] == [
        {"at": "tests/test_login.py:1", "test": "test_login", "state": "marked"}
    ]
    assert rows["area/auth", "User login"]["missing"] == ["Right password", "Wrong password"]
    assert rows["area/auth", "Logout"]["tests"]["Ok"][0]["test"] == "says hello"
    assert told["summary"] == {
        "scenarios": 6, "covered": 4, "percent": 66.6, "requirements": 4, "gone": 1,
    }  # fmt: skip
    (gone,) = told["gone"]
    assert gone["at"] == "tests/test_login.py:16" and gone["marker"] == "spec:auth#Captcha"


def test_reports_tell_how_the_tests_went(project: Path) -> None:
    told = coverage(project, "--junit", "*.xml")
    rows = {(row["capability"], row["requirement"]): row for row in told["requirements"]}
    assert rows["auth", "User login"]["notPassed"] == {"Wrong password": "failed"}
    assert rows["auth", "Logout"]["covered"] == 1
    assert rows["area/auth", "Logout"]["notPassed"] == {"Ok": "skipped"}
    assert told["summary"]["covered"] == 2
    (project / "report.xml").write_text(REPORT.replace("test_login", "test_other"))
    told = coverage(project, "auth", "--junit", "report.xml")
    assert told["requirements"][0]["notPassed"]["Right password"] == "not run"


def test_a_report_may_hold_the_markers_itself(project: Path) -> None:
    (project / "report.xml").write_text(
        '<testsuite><testcase name="a"><properties><property name="spec" '
        'value="area/auth#Wrong password"/></properties></testcase>'
        '<testcase name="b spec:area/auth#right-password"/></testsuite>'
    )
    told = coverage(project, "area/auth", "--junit", "report.xml")
    assert told["requirements"][0]["covered"] == 2


def test_too_little_coverage_ends_with_one(project: Path) -> None:
    coverage(project, "--fail-under", "66.6")
    coverage(project, "--fail-under", "67", code=1)
    coverage(project, "auth", "--fail-under", "100")
    coverage(project, "--tests", "web", "--fail-under", "20", code=1)


def test_what_cannot_be_read_is_named(project: Path) -> None:
    (project / "report.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    for arguments in (
        ("--junit", "report.xml"), ("--junit", "none.xml"), ("--junit", "openspec/specs/**/*.md"),
        ("nope",), ("--tests", "nope"),
    ):  # fmt: skip
        (status,) = coverage(project, *arguments, code=1)["status"]
        assert status["code"] == "coverage_error" and arguments[-1][:4] in status["message"]


def test_a_marker_that_may_mean_several_scenarios_means_none(put: Put) -> None:
    project = put(
        {
            "openspec/specs/auth/spec.md": SPEC.replace("Wrong password", "Ok"),
            "tests/test_a.py": "# spec:auth#ok\n# spec:auth/logout#ok\n# spec:auth#logout\n",
        }
    )
    told = coverage(project)
    (gone,) = told["gone"]
    assert "several requirements: user-login, logout" in gone["problem"]
    assert told["summary"]["covered"] == 1
    assert len(told["requirements"][1]["ofTheWhole"]) == 1


@pytest.mark.parametrize(
    ("text", "path", "name", "test"),
    [
        ("// spec:a/b#c-d\nfunc TestIt(t *testing.T) {", "a/b", "c-d", "TestIt"),
        ("#[test]\n// spec:a#b\nfn works() {", "a", "b", "works"),
        ("@Test // spec:a#b\nvoid worksToo() {", "a", "b", "worksToo"),
        ("/** spec:a#b */\n@Test\nfun `it works`() {", "a", "b", "it works"),
        ("it('does', async () => {\n  // spec:a#`b c`\n", "a", "b c", "does"),
        ("# spec:größe/ändern#Über-lang", "größe/ändern", "Über-lang", None),
        ("def test_one():\n    '''spec:a#b.'''", "a", "b", "test_one"),
    ],
)
def test_markers_are_found_in_many_languages(
    text: str, path: str, name: str, test: str | None
) -> None:
    (marker,) = markers_in(text, "file")
    assert (marker.path, marker.name, marker.test) == (path, name, test)


@pytest.mark.parametrize("text", ["my_spec:auth", "spec: auth", "inspec:x", "http://spec/x"])
def test_what_only_looks_like_a_marker_is_none(text: str) -> None:
    assert list(markers_in(text, "file")) == []


@pytest.mark.anyio
async def test_the_tool_tells_the_same_and_writes_nothing(server: list[str], project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    async with stdio_client(server, cwd=project) as client:
        told = await client.value("validate", coverage=True)
        one = await client.value("validate", name="auth", type="spec", coverage=True)
        without = await client.value("validate")
    assert told["coverage"] == coverage(project)["summary"]
    assert [row["capability"] for row in told["uncovered"]] == ["area/auth"]
    assert one["coverage"]["percent"] == 100 and "coverage" not in without
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
