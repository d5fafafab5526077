"""What assistants get: skills and slash commands by `init` and `update`, as a person chose."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import mcp_host_openspec
import pytest
import yaml
from mcp_host_openspec.model.assistants import ASSISTANTS, CORE, SKILLS, profile_workflows
from mcp_host_openspec.service.assistant_files import AssistantFiles, Choice

OPENSPEC = str(Path(sys.executable).with_name("openspec"))
SKILL_TEXTS = Path(mcp_host_openspec.__file__).parent / "skills"
WORDS = {"apply", "explore", "propose", "continue", "ff", "verify", "sync", "onboard", "bulk"}
OURS = ("propose", "explore", "apply", "update", "sync", "archive")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def openspec(folder: Path, home: Path, *arguments: str, **variables: str) -> Any:
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"), **variables,
    }  # fmt: skip
    return subprocess.run(
        [OPENSPEC, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def done(folder: Path, home: Path, *arguments: str) -> str:
    answer = openspec(folder, home, *arguments)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return str(answer.stdout)


def workflows_in(project: Path) -> set[str]:
    return {path.stem for path in (project / ".claude/commands/opsx").glob("*.md")}


def test_every_assistant_gets_files_that_it_can_read(project: Path, home: Path) -> None:
    """A skill begins with YAML that names it, a command as its assistant expects."""
    choice = Choice(tuple(SKILLS), "both")
    for one in ASSISTANTS.values():
        folder = project / one.id
        folder.mkdir()
        (written,) = AssistantFiles(folder, home).write([one], choice)
        assert written.error is None and len(written.files) == (24 if one.commands else 12)
        for path in written.files:
            text = path.read_text()
            assert "{{" not in text
            if path.suffix == ".toml":
                assert tomllib.loads(text)["prompt"]
            elif text.startswith("---\n"):
                facts = yaml.safe_load(text.split("---\n")[1])
                assert facts["description"]
                if path.name == "SKILL.md":
                    assert facts["name"] == path.parent.name and len(facts["description"]) < 1024
            else:
                assert one.commands and one.commands.form in ("bare", "heading")


def test_a_text_calls_other_workflows_as_its_reader_does(project: Path, home: Path) -> None:
    spelled = {
        "claude": "`/opsx:apply`", "cursor": "`/opsx-apply`", "amazon-q": "`@opsx-apply`",
        "codex": "`$openspec-apply-change` (Codex)", "zed": "`/openspec-apply-change`",
        "kimi": "`/skill:openspec-apply-change`", "rovodev": "the openspec-apply-change skill",
    }  # fmt: skip
    for name, call in spelled.items():
        one = ASSISTANTS[name]
        (written,) = AssistantFiles(project / name, home).write([one], Choice(CORE, "both"))
        (skill,) = (p for p in written.files if p.parent.name == "openspec-propose")
        assert call in skill.read_text()
        assert "opsx:continue" not in "".join(path.read_text() for path in written.files)


def test_every_command_that_a_text_names_is_there(project: Path, home: Path) -> None:
    done(project, home, "init", "--tools", "none")
    texts = [path.read_text() for path in SKILL_TEXTS.glob("*.md")]
    calls = {call for text in texts for call in re.findall(r"openspec ([a-z]+(?: [a-z]+)?)", text)}
    commands = {call.split()[0] for call in calls if call.split()[0] not in WORDS}
    assert commands >= {"new", "status", "instructions", "archive", "store", "context", "schemas"}
    for command in sorted(commands):
        assert done(project, home, "help", command).startswith(f"usage: openspec {command}")


def test_init_takes_what_it_finds_and_asks_for_names_where_there_is_nothing(
    project: Path, home: Path
) -> None:
    nothing = openspec(project, home, "init")
    assert nothing.returncode == 1 and "--tools none" in nothing.stderr
    assert not (project / "openspec").exists()
    for sign in (".claude", ".agents"):
        (project / sign).mkdir()
    (project / "HERMES.md").write_text("")
    told = json.loads(done(project, home, "init", "--json"))
    assert "openspec/config.yaml" in told["created"]
    assert workflows_in(project) == set(OURS)
    assert len(list((project / ".hermes/skills").iterdir())) == 6
    assert not (project / ".agents/skills").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tools", "bogus"),
        ("--tools", ""),
        ("--tools", "none,claude"),
        ("--tools", ","),
        ("--tools", "claude", "--profile", "bogus"),
    ],
)
def test_init_refuses_what_it_does_not_know(
    project: Path, home: Path, arguments: tuple[str, ...]
) -> None:
    assert openspec(project, home, "init", *arguments).returncode == 1
    assert list(project.iterdir()) == []


def test_init_names_the_language_in_a_configuration_that_it_makes(
    project: Path, home: Path
) -> None:
    init = ("init", "--tools", "none", "--language")
    done(project, home, *init, "German")
    config = yaml.safe_load((project / "openspec/config.yaml").read_text())
    assert "All artifacts must be written in German." in config["context"]
    done(project, home, *init, "German")
    assert openspec(project, home, *init, "Dutch").returncode == 1


def test_a_profile_and_a_delivery_decide_what_is_written(project: Path, home: Path) -> None:
    done(project, home, "init", "--tools", "claude,codex")
    done(project, home, "config", "set", "workflows", '["new", "bulk-archive"]')
    done(project, home, "config", "set", "profile", "custom")
    done(project, home, "update")
    assert workflows_in(project) == {"new", "sync", "bulk-archive"}  # archiving needs sync
    skills = {path.name for path in (project / ".agents/skills").iterdir() if path.is_dir()}
    assert skills == {SKILLS[name] for name in ("new", "sync", "bulk-archive")}
    done(project, home, "config", "set", "delivery", "skills")
    done(project, home, "update")
    assert workflows_in(project) == set() and (project / ".claude/skills").is_dir()
    done(project, home, "config", "set", "delivery", "commands")
    done(project, home, "config", "profile", "core")
    done(project, home, "update")
    assert workflows_in(project) == set(OURS)
    assert not list((project / ".claude/skills").rglob("SKILL.md"))
    assert list((project / ".agents/skills").rglob("SKILL.md"))  # Codex calls skills


def test_update_writes_what_differs_and_nothing_of_a_person(project: Path, home: Path) -> None:
    assert openspec(project, home, "update").returncode == 1
    done(project, home, "init", "--tools", "claude,cursor")
    skills = project / ".claude/skills"
    mine = skills / "openspec-propose/notes.md"
    mine.write_text("mine")
    assert "up to date" in done(project, home, "update")
    (skills / "openspec-propose/SKILL.md").write_text("edited")
    (project / "openspec/AGENTS.md").write_text("old words")
    told = done(project, home, "update")
    assert "✓ Claude Code" in told and "Cursor" not in told
    assert (skills / "openspec-propose/SKILL.md").read_text().startswith("---\n")
    done(project, home, "config", "set", "delivery", "commands")
    done(project, home, "update", "--force")
    assert [path.name for path in skills.rglob("*") if path.is_file()] == ["notes.md"]
    assert (project / "openspec/AGENTS.md").read_text() == "old words"


def test_what_is_installed_becomes_the_profile_of_who_has_none(project: Path, home: Path) -> None:
    (project / "openspec/specs").mkdir(parents=True)
    for name in ("new", "verify"):
        file = project / f".claude/commands/opsx/{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("older")
    done(project, home, "update")
    assert workflows_in(project) == {"new", "verify"}
    assert done(project, home, "config", "get", "profile") == "custom\n"
    assert done(project, home, "config", "get", "delivery") == "commands\n"


def test_a_shared_folder_stays_one_assistants(project: Path, home: Path) -> None:
    done(project, home, "config", "profile", "core")
    done(project, home, "init", "--tools", "codex")
    done(project, home, "init", "--tools", "zed,antigravity")
    assert (project / ".agents/skills/.openspec-target").read_text() == "codex\n"
    assert "$openspec-" in (project / ".agents/skills/openspec-propose/SKILL.md").read_text()
    assert len(list((project / ".agents/workflows").iterdir())) == 6
    assert "up to date" in done(project, home, "update")


def test_nothing_is_written_through_a_link_out_of_the_project(
    project: Path, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".claude").symlink_to(outside)
    refused = openspec(project, home, "init", "--tools", "claude,cursor")
    assert refused.returncode == 1 and "Claude Code" in refused.stderr
    assert list(outside.iterdir()) == []
    assert (project / ".cursor/commands/opsx-propose.md").exists()


def test_copilots_files_in_the_cloud_are_asked_for(project: Path, home: Path) -> None:
    init = ("init", "--tools", "github-copilot")
    steps = project / ".github/workflows/copilot-setup-steps.yml"
    done(project, home, *init)
    assert not steps.exists()
    done(project, home, *init, "--copilot-cloud")
    assert "openspec" in yaml.safe_load(steps.read_text())["jobs"]["copilot-setup-steps"][
        "steps"
    ][2]["run"]  # fmt: skip
    agent = project / ".github/agents/openspec.agent.md"
    agent.write_text("mine")
    done(project, home, *init, "--no-copilot-cloud")
    assert not steps.exists() and agent.read_text() == "mine"
    config = yaml.safe_load((project / "openspec/config.yaml").read_text())
    assert config["githubCopilot"] == {"cloudAgent": False}


def test_settings_are_set_checked_and_kept(home: Path) -> None:
    file = home / "config/openspec/config.json"
    assert done(home, home, "config", "path") == f"{file}\n"
    assert json.loads(done(home, home, "config", "list", "--json")) == {
        "featureFlags": {}, "profile": "core", "delivery": "both",
    }  # fmt: skip
    for refused in (
        ("profile", "bogus"), ("bogus", "1"), ("telemetry", "true"), ("featureFlags.a.b", "true"),
        ("defaultStore", "5"), ("__proto__.x", "1", "--allow-unknown"),
    ):  # fmt: skip
        assert openspec(home, home, "config", "set", *refused).returncode == 1
    assert not file.exists()
    done(home, home, "config", "set", "featureFlags.new", "true")
    done(home, home, "config", "set", "own.key", "1.5", "--allow-unknown")
    assert done(home, home, "config", "get", "own") == '{"key":1.5}\n'
    done(home, home, "config", "unset", "own")
    assert openspec(home, home, "config", "get", "own").returncode == 1
    assert openspec(home, home, "config", "profile").returncode == 1
    assert openspec(home, home, "config", "reset", "--all").returncode == 1
    done(home, home, "config", "reset", "--all", "--yes")
    assert "new" not in file.read_text()


def test_settings_that_cannot_be_read_are_not_written_over(home: Path) -> None:
    file = home / "config/openspec/config.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"profile": ')
    assert openspec(home, home, "config", "set", "delivery", "skills").returncode == 1
    assert done(home, home, "config", "get", "delivery") == "both\n"
    assert file.read_text() == '{"profile": '


def test_settings_are_edited_without_a_shell(home: Path) -> None:
    assert openspec(home, home, "config", "edit").returncode == 1
    editor = f'{sys.executable} -c \'import sys; open(sys.argv[1], "w").write("{{}}")\''
    done_well = openspec(home, home, "config", "edit", EDITOR=editor)
    assert done_well.returncode == 0
    assert (home / "config/openspec/config.json").read_text() == "{}"
    injected = openspec(home, home, "config", "edit", EDITOR=f"true; touch {home}/made")
    assert injected.returncode == 1 and not (home / "made").exists()


@pytest.mark.parametrize(
    ("workflows", "expected"),
    [
        ((), ()),
        (("archive",), ("sync", "archive")),
        (("verify", "bogus"), ("verify",)),
        (("sync", "archive"), ("sync", "archive")),
    ],
)
def test_a_custom_profile_is_what_was_chosen(
    workflows: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert profile_workflows("custom", workflows) == expected
    assert profile_workflows("core", workflows) == CORE
