"""Every scenario of the specification, through a client of a real server process."""

import signal
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host.testing import CallFailed, http_server, stdio_client

if TYPE_CHECKING:
    from conftest import Reading

pytestmark = pytest.mark.anyio
LEGACY, MODERN = "2025-11-25", "2026-07-28"
CHANGES = "openspec://changes"


async def test_it_says_who_it_is_and_that_it_started(server: list[str], project: Path) -> None:
    async with stdio_client(server, cwd=project) as client:
        await client.said("[openspec-mcp] Server started on stdio")
        info = client.initialized["serverInfo"]
        assert (info["name"], info["version"]) == ("openspec", version("mcp-host-openspec"))
        assert await client.signal(signal.SIGINT) == 0


async def test_debug_tells_on_stderr_how_the_paths_were_chosen(
    server: list[str], shop: Path, tmp_path: Path
) -> None:
    environment = {"OPENSPEC_ROOT": str(tmp_path / "elsewhere")}
    async with stdio_client([*server, "--debug"], cwd=shop, environment=environment) as client:
        await client.tools()
        await client.said(f"OpenSpec tree: {tmp_path}/elsewhere/openspec (not there yet)")


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_it_lists_six_tools_ten_resources_and_three_prompts(
    server: list[str], project: Path, protocol: str
) -> None:
    async with stdio_client(server, cwd=project, protocol=protocol) as client:
        assert {tool["name"] for tool in await client.tools()} == {
            "init",
            "list",
            "show",
            "validate",
            "archive",
            "update_project_context",
        }
        fixed = (await client.request("resources/list"))["resources"]
        templates = (await client.request("resources/templates/list"))["resourceTemplates"]
        assert [one["uri"].removeprefix("openspec://") for one in fixed] == [
            "instructions",
            "project",
            "specs",
            "changes",
            "archive",
        ]
        assert [one["uriTemplate"].removeprefix("openspec://") for one in templates] == [
            "specs/{capability}",
            "changes/{changeId}",
            "changes/{changeId}/proposal",
            "changes/{changeId}/tasks",
            "changes/{changeId}/design",
        ]
        prompts = (await client.request("prompts/list"))["prompts"]
        assert [one["name"] for one in prompts] == [
            "openspec-propose",
            "openspec-apply",
            "openspec-archive",
        ]


async def test_resources_give_the_files_of_the_tree(reading: "Reading") -> None:
    project, text = reading.project, reading.text
    is_old = (project / "openspec/AGENTS.md").exists()
    assert ("Read this first" in await text("openspec://instructions")) == is_old
    assert "sells things" in (await text("openspec://project")).lower()
    assert "](openspec://specs/auth)" in await text("openspec://specs")
    spec = (project / "openspec/specs/auth/spec.md").read_text()
    assert await text("openspec://specs/auth") == spec
    index = await text(CHANGES)
    assert "](openspec://changes/add-lockout)" in index
    assert "archive" not in index
    for name in ("proposal", "tasks", "design"):
        file = project / f"openspec/changes/add-lockout/{name}.md"
        assert await text(f"{CHANGES}/add-lockout/{name}") == file.read_text()
    archived = await text("openspec://archive")
    assert archived.index("2025-03-04-add-logout") < archived.index("2024-01-02-add-auth")


async def test_a_change_is_read_as_one_content_per_file(server: list[str], project: Path) -> None:
    async with stdio_client(server, cwd=project) as client:
        contents = await client.read(f"{CHANGES}/add-lockout")
        assert [content["uri"] for content in contents] == [
            f"{CHANGES}/add-lockout/{name}" for name in ("proposal", "tasks", "design")
        ]
        (project / "openspec/changes/add-lockout/design.md").unlink()
        assert len(await client.read(f"{CHANGES}/add-lockout")) == 2


async def test_a_slash_in_a_capability_is_written_as_percent_2f(
    server: list[str], shop: Path
) -> None:
    async with stdio_client(server, cwd=shop) as client:
        assert (
            "openspec://specs/area%2Fnested" in (await client.read("openspec://specs"))[0]["text"]
        )
        assert "nested" in (await client.read("openspec://specs/area%2Fnested"))[0]["text"]


@pytest.mark.parametrize(
    "uri", ["openspec://specs/nope", f"{CHANGES}/nope", f"{CHANGES}/nope/tasks"]
)
async def test_what_does_not_exist_is_a_text_that_says_so(reading: "Reading", uri: str) -> None:
    client = reading.client
    (content,) = await client.read(uri)
    assert content["text"].startswith("Not found: ")
    assert content["_meta"]["mcp-host/error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "uri",
    [
        "openspec://specs/..%2F..%2Fetc",
        "openspec://specs/%2Fetc%2Fpasswd",
        "openspec://specs/a%00b",
        f"{CHANGES}/..",
        f"{CHANGES}/a%2Fb",
        f"{CHANGES}/archive",
    ],
)
async def test_an_id_that_leaves_the_tree_is_a_protocol_error(reading: "Reading", uri: str) -> None:
    client = reading.client
    answer = await client.raw_request("resources/read", {"uri": uri})
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["code"] == "validation_error"


async def test_a_link_out_of_the_tree_is_not_followed(
    server: list[str], shop: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "spec.md").write_text("secret")
    (shop / "openspec/specs/leak").symlink_to(secret)
    async with stdio_client(server, cwd=shop) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("show", name="leak", type="spec")
        assert failed.value.envelope["details"]["reason"] == "outside_tree"
        with pytest.raises(CallFailed):
            await client.read("openspec://specs/leak")


@pytest.mark.parametrize("target", ["spec.md", "/etc/hostname"])
async def test_a_spec_one_may_not_look_at_is_told_of_and_the_rest_goes_on(
    server: list[str], shop: Path, target: str
) -> None:
    bad = shop / "openspec/specs/bad/spec.md"
    bad.parent.mkdir()
    bad.symlink_to(target)
    async with stdio_client(server, cwd=shop) as client:
        listed = await client.value("list", specs=True)
        counts = {row["capability"]: row["requirementCount"] for row in listed["specs"]}
        assert counts == {"area/nested": 2, "auth": 2, "bad": 0}
        (warning,) = listed["warnings"]
        assert (warning["name"], warning["path"]) == ("bad", str(bad))
        assert str(bad) in (await client.read("openspec://specs"))[0]["text"]

        everything = await client.value("validate")
        valid = {item["id"]: item["valid"] for item in everything["items"]}
        assert valid == {"add-lockout": True, "area/nested": True, "auth": True, "bad": False}
        (error,) = everything["errors"]
        assert (error["item"], error["rule"]) == ("bad", "F0")
        assert str(bad) in error["message"]
        assert not (await client.value("validate", name="bad"))["valid"]
        assert (await client.value("validate", name="add-lockout"))["valid"]
        with pytest.raises(CallFailed, match=str(bad)):
            await client.value("show", name="bad", type="spec")


async def test_a_proposal_one_may_not_look_at_costs_the_list_its_title_alone(
    server: list[str], shop: Path
) -> None:
    proposal = shop / "openspec/changes/add-lockout/proposal.md"
    proposal.unlink()
    proposal.symlink_to("proposal.md")
    async with stdio_client(server, cwd=shop) as client:
        listed = await client.value("list", long=True)
        (change,) = listed["changes"]
        assert change["progress"]["total"] == 2 and "title" not in change
        (warning,) = listed["warnings"]
        assert (warning["name"], warning["path"]) == ("add-lockout", str(proposal))


async def test_an_item_of_the_other_type_is_suggested(server: list[str], shop: Path) -> None:
    async with stdio_client(server, cwd=shop) as client:
        with pytest.raises(CallFailed, match="Change 'auth' not found") as failed:
            await client.value("show", name="auth")
        assert "type='spec'" in failed.value.envelope["suggestions"][0]
        with pytest.raises(CallFailed, match="Spec 'add-lockout' not found") as failed:
            await client.value("show", name="add-lockout", type="spec")
        assert "type='change'" in failed.value.envelope["suggestions"][0]
        with pytest.raises(CallFailed) as failed:
            await client.value("show", name="nothing-like-it")
        assert not any("type=" in text for text in failed.value.envelope.get("suggestions", ()))


async def test_without_files_there_are_templates(server: list[str], tmp_path: Path) -> None:
    async with stdio_client(server, cwd=tmp_path) as client:
        assert "## ADDED Requirements" in (await client.read("openspec://instructions"))[0]["text"]
        assert "# Project context" in (await client.read("openspec://project"))[0]["text"]
        assert "init" in (await client.read("openspec://specs"))[0]["text"]


async def test_init_makes_a_tree_and_only_once(server: list[str], tmp_path: Path) -> None:
    project = tmp_path / "fresh"
    project.mkdir()
    async with stdio_client(server, cwd=project) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("list")
        assert failed.value.envelope["details"]["reason"] == "no_openspec_root"
        assert "openspec init" in failed.value.envelope["suggestions"][0]
        made = await client.value("init", tools=["claude"])
        assert made["success"]
        assert made["nextSteps"]
        for name in made["filesCreated"]:
            assert (project / name).is_file()
        assert {"openspec/AGENTS.md", "openspec/project.md", "CLAUDE.md"} <= set(
            made["filesCreated"]
        )
        assert (await client.value("validate"))["valid"]
        with pytest.raises(CallFailed) as failed:
            await client.value("init")
        assert failed.value.code == "conflict"
        assert "already initialized" in failed.value.envelope["error"]


async def test_init_makes_the_current_layout_where_it_is_asked_for(
    server: list[str], tmp_path: Path
) -> None:
    async with stdio_client(server, cwd=tmp_path) as client:
        made = await client.value("init", layout="1.x", tools=["claude", "windsurf"])
        assert {
            "openspec/config.yaml",
            ".claude/commands/opsx/propose.md",
            ".devin/skills/openspec-propose/SKILL.md",
        } <= set(made["filesCreated"])
        assert not (tmp_path / "openspec/AGENTS.md").exists()
        assert all((tmp_path / name).is_file() for name in made["filesCreated"])
        with pytest.raises(CallFailed) as failed:
            await client.value("init", layout="1.x")
        assert failed.value.code == "conflict"


async def test_init_stays_in_its_own_project(server: list[str], tmp_path: Path) -> None:
    project = tmp_path / "own"
    project.mkdir()
    async with stdio_client(server, cwd=project) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("init", path=str(tmp_path / "other"))
        assert failed.value.code == "validation_error"
        assert not (tmp_path / "other").exists()


async def test_list_gives_changes_or_specs(reading: "Reading") -> None:
    client = reading.client
    changes = await client.value("list", specs=False)
    assert changes["count"] == 1
    (change,) = changes["changes"]
    assert change["id"] == "add-lockout"
    assert change["hasProposal"] and change["hasTasks"] and change["hasDesign"]
    assert change["progress"] == {"total": 2, "completed": 2, "percentage": 100}
    specs = await client.value("list", specs=True, long=True)
    listed = {spec["capability"]: spec for spec in specs["specs"]}
    assert listed["auth"]["requirementCount"] == 2
    assert listed["auth"]["summary"].startswith("Says who")


async def test_show_gives_a_change_in_full(reading: "Reading") -> None:
    client = reading.client
    shown = await client.value("show", name="add-lockout", type="change")
    assert shown["title"] == "Lock accounts"
    assert "## Why" in shown["proposal"]
    assert "1.1" in shown["tasks"]
    assert "database" in shown["design"]
    assert shown["specDeltas"][0]["capability"] == "auth"
    assert shown["progress"]["percentage"] == 100
    (delta,) = shown["deltas"]
    assert (delta["operation"], delta["name"]) == ("ADDED", "Lockout")


async def test_show_gives_a_spec_with_the_names_of_its_requirements(reading: "Reading") -> None:
    client, project = reading.client, reading.project
    shown = await client.value("show", name="auth", type="spec")
    assert [one["name"] for one in shown["requirements"]] == ["Login", "Logout"]
    assert [one["name"] for one in shown["requirements"][0]["scenarios"]] == [
        "Right password",
        "Wrong password",
    ]
    assert shown["content"] == (project / "openspec/specs/auth/spec.md").read_text()


async def test_validate_finds_errors_and_strict_counts_warnings(
    server: list[str], project: Path
) -> None:
    async with stdio_client(server, cwd=project) as client:
        assert (await client.value("validate"))["valid"]
        delta = project / "openspec/changes/add-lockout/specs/auth/spec.md"
        delta.write_text(delta.read_text().replace("SHALL", "will"))
        lax = await client.value("validate", name="add-lockout")
        assert lax["valid"] and lax["target"] == "add-lockout"
        assert [(w["rule"], w["path"]) for w in lax["warnings"]] == [("C7", "auth/spec.md")]
        strict = await client.value("validate", name="add-lockout", strict=True)
        assert not strict["valid"]
        (project / "openspec/changes/add-lockout/proposal.md").unlink()
        delta.unlink()
        broken = await client.value("validate", name="add-lockout", type="change")
        assert [error["rule"] for error in broken["errors"]] == ["C17"]
        assert "N1" in [note["rule"] for note in broken["notes"]]


async def test_archive_checks_tasks_previews_merges_and_moves(
    server: list[str], project: Path
) -> None:
    tasks = project / "openspec/changes/add-lockout/tasks.md"
    spec = project / "openspec/specs/auth/spec.md"
    before = spec.read_text()
    tasks.write_text(tasks.read_text().replace("[x] 1.2", "[ ] 1.2"))
    async with stdio_client(server, cwd=project) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("archive", name="add-lockout")
        assert failed.value.envelope["details"]["reason"] == "archive_tasks_incomplete"
        preview = await client.value("archive", name="add-lockout", dryRun=True)
        assert not preview["ready"]
        preview = await client.value("archive", name="add-lockout", dryRun=True, force=True)
        assert preview["ready"]
        (operation,) = preview["operations"]
        assert operation["operation"] == "update"
        assert "+### Requirement: Lockout" in operation["diff"]
        assert spec.read_text() == before
        done = await client.value("archive", name="add-lockout", force=True)
        assert done["archivedTo"].endswith(f"{date.today().isoformat()}-add-lockout")
        assert done["totals"] == {"added": 1, "modified": 0, "removed": 0, "renamed": 0}
        assert "### Requirement: Lockout" in spec.read_text()
        assert not tasks.exists()
        assert (project / done["archivedTo"] / "tasks.md").is_file()
        assert (await client.value("list"))["count"] == 0
        assert (await client.value("validate", type="spec", strict=True))["valid"]


async def test_a_dry_run_tells_every_reason_for_a_refusal_and_the_diff(
    server: list[str], shop: Path
) -> None:
    tasks = shop / "openspec/changes/add-lockout/tasks.md"
    tasks.write_text(tasks.read_text().replace("[x] 1.2", "[ ] 1.2"))
    delta = shop / "openspec/changes/add-lockout/specs/auth/spec.md"
    delta.write_text(f"# Title\n\n{delta.read_text()}\n```\nopen\n")
    async with stdio_client(server, cwd=shop) as client:
        preview = await client.value("archive", name="add-lockout", dryRun=True)
        assert not preview["ready"]
        assert [error["code"] for error in preview["errors"]] == [
            "archive_tasks_incomplete",
            "archive_would_lose_text",
        ]
        assert preview["errors"][1]["losses"][0]["loss"] == "L2"
        assert "+### Requirement: Lockout" in preview["operations"][0]["diff"]
        assert preview["dropped"][0]["lines"] == ["# Title"]


async def test_archive_without_updating_specs_leaves_them_alone(
    server: list[str], project: Path
) -> None:
    spec = project / "openspec/specs/auth/spec.md"
    before = spec.read_bytes()
    async with stdio_client(server, cwd=project) as client:
        done = await client.value("archive", name="add-lockout", updateSpecs=False)
        assert not done["specsUpdated"]
        assert spec.read_bytes() == before
        assert not (project / "openspec/changes/add-lockout").exists()


async def test_update_project_context_replaces_appends_and_edits_a_section(
    server: list[str], project: Path
) -> None:
    file = project / "openspec/project.md"
    async with stdio_client(server, cwd=project) as client:
        await client.value("update_project_context", content="# Shop\n\n## Purpose\n\nSells.\n")
        assert file.read_text() == "# Shop\n\n## Purpose\n\nSells.\n"
        await client.value("update_project_context", content="## More\n\nText.", merge=True)
        assert file.read_text().endswith("Sells.\n\n## More\n\nText.\n")
        await client.value("update_project_context", content="Gives away.", section="purpose")
        assert "Sells" not in file.read_text()
        assert "## Purpose\n\nGives away.\n\n## More\n" in file.read_text()
        await client.value(
            "update_project_context", content="- Rust", section="Tech Stack", merge=True
        )
        assert file.read_text().endswith("## Tech Stack\n\n- Rust\n")


async def test_a_section_is_named_by_its_title_on_one_line(server: list[str], shop: Path) -> None:
    project = shop / "openspec/project.md"
    project.write_text("# Shop\n\n## Purpose\n\nSells.\n")
    before = project.read_bytes()
    async with stdio_client(server, cwd=shop) as client:
        for section in ("", " ## ", "Purpose\n# Shop"):
            with pytest.raises(CallFailed, match="section must be the title"):
                await client.value("update_project_context", content="x", section=section)
        assert project.read_bytes() == before

        await client.value("update_project_context", content="Gives.", section="## Purpose")
        assert project.read_text() == "# Shop\n\n## Purpose\n\nGives.\n"


@pytest.mark.parametrize("content", ["", " \n\t\n"])
@pytest.mark.parametrize("given", [{}, {"merge": True}, {"section": "Purpose"}])
async def test_an_empty_context_is_refused_and_nothing_is_written(
    server: list[str], shop: Path, content: str, given: dict[str, Any]
) -> None:
    project = shop / "openspec/project.md"
    project.write_text("# Shop\n\n## Purpose\n\nSells.\n")
    before = project.read_bytes()
    async with stdio_client(server, cwd=shop) as client:
        with pytest.raises(CallFailed, match="content is empty") as failed:
            await client.value("update_project_context", content=content, **given)
    assert failed.value.code == "validation_error"
    assert "Give the text" in failed.value.envelope["suggestions"][0]
    assert project.read_bytes() == before


async def test_without_a_tree_an_item_is_a_text_that_says_so(
    server: list[str], tmp_path: Path
) -> None:
    async with stdio_client(server, cwd=tmp_path) as client:
        for uri in ("openspec://specs/auth", f"{CHANGES}/a", f"{CHANGES}/a/design"):
            (content,) = (await client.request("resources/read", {"uri": uri}))["contents"]
            assert content["text"].startswith("Not found: there is no OpenSpec tree yet.")
            error = content["_meta"]["mcp-host/error"]
            assert error["details"]["reason"] == "no_openspec_root"
        with pytest.raises(CallFailed, match=r"'\.\.'"):
            await client.request("resources/read", {"uri": f"{CHANGES}/.."})


async def test_prompts_name_what_to_read_do_and_check(reading: "Reading") -> None:
    client = reading.client

    async def text(name: str, **arguments: str) -> str:
        got = await client.request("prompts/get", {"name": name, "arguments": arguments})
        (message,) = got["messages"]
        assert message["role"] == "user"
        return str(message["content"]["text"])

    proposing = await text("openspec-propose", description="Lock accounts", scope="fix")
    for part in ("Lock accounts", "openspec://instructions", "openspec://project"):
        assert part in proposing
    for part in ("openspec://specs", "openspec://changes", "conflicts", "validate"):
        assert part in proposing
    applying = await text("openspec-apply", changeId="add-lockout")
    for part in (f"{CHANGES}/add-lockout", "sequentially", "checkboxes", "continuously"):
        assert part in applying
    archiving = await text("openspec-archive", changeId="add-lockout")
    for part in ("tasks are complete", "validate", "dryRun", "Execute", "post-archive"):
        assert part in archiving


async def test_prompts_follow_a_schema_of_the_projects_own(server: list[str], shop: Path) -> None:
    own = shop / "openspec/schemas/own"
    (own / "templates").mkdir(parents=True)
    for name in ("plan.md", "c.md"):
        (own / "templates" / name).write_text("x")
    (own / "schema.yaml").write_text(
        "name: own\nversion: 1\nartifacts:\n"
        "  - {id: contracts, generates: 'specs/**/*.md', description: The deltas, template: c.md,"
        " requires: [plan]}\n"
        "  - {id: plan, generates: plan.md, description: The plan, template: plan.md}\n"
        "apply: {requires: [contracts], tracks: plan.md}\n"
    )
    (shop / "openspec/config.yaml").write_text("schema: own\n")
    (shop / "openspec/changes/add-lockout/.openspec.yaml").write_text("schema: own\n")

    async with stdio_client(server, cwd=shop) as client:

        async def text(name: str, **arguments: str) -> str:
            got = await client.request("prompts/get", {"name": name, "arguments": arguments})
            return str(got["messages"][0]["content"]["text"])

        proposing = await text("openspec-propose", description="Lock accounts")
        applying = await text("openspec-apply", changeId="add-lockout")
        archiving = await text("openspec-archive", changeId="add-lockout")

    steps = proposing.index("plan, in plan.md: The plan"), proposing.index("contracts, in specs/**")
    assert steps[0] < steps[1]
    assert "'schema: own'" in proposing and "(after plan)" in proposing
    assert "tasks.md" not in proposing and "proposal.md" not in proposing
    assert "plan, contracts" in applying and "add-lockout/plan.md" in applying
    assert "tasks.md" not in applying
    assert "plan, contracts" in archiving


async def test_names_are_completed(server: list[str], shop: Path) -> None:
    async with stdio_client(server, cwd=shop) as client:

        async def proposed(ref: dict[str, Any], name: str, value: str) -> list[str]:
            argument = {"name": name, "value": value}
            got = await client.request("completion/complete", {"ref": ref, "argument": argument})
            return list(got["completion"]["values"])

        of_prompt = {"type": "ref/prompt", "name": "openspec-apply"}
        assert await proposed(of_prompt, "changeId", "add") == ["add-lockout"]
        of_spec = {"type": "ref/resource", "uri": "openspec://specs/{capability}"}
        assert await proposed(of_spec, "capability", "a") == ["area/nested", "auth"]


async def test_the_working_directory_is_the_project_even_where_it_is_home(
    server: list[str], shop: Path, tmp_path: Path
) -> None:
    async with stdio_client(server, cwd=shop, environment={"HOME": str(shop)}) as client:
        assert (await client.value("list"))["count"] == 1
    settings = tmp_path / "settings.toml"
    settings.write_text(f"[host]\nroot = '{shop}'\n")
    home = {"HOME": str(tmp_path)}
    for given in (["--config", str(settings)], ["--root", str(shop)]):
        async with stdio_client([*server, *given], cwd=tmp_path, environment=home) as client:
            assert (await client.value("list"))["count"] == 1


async def test_a_fixed_root_is_used_instead_of_the_working_directory(
    server: list[str], project: Path, tmp_path: Path
) -> None:
    environment = {"OPENSPEC_ROOT": str(project)}
    async with stdio_client(server, cwd=tmp_path, environment=environment) as client:
        assert (await client.value("list"))["count"] == 1


async def test_a_root_on_the_command_line_comes_before_the_variable(
    server: list[str], shop: Path, tmp_path: Path
) -> None:
    environment = {"OPENSPEC_ROOT": str(tmp_path / "elsewhere")}
    command = [*server, "--root", str(shop)]
    async with stdio_client(command, cwd=tmp_path, environment=environment) as client:
        assert (await client.value("list"))["count"] == 1


async def test_each_project_has_its_place_below_one_root(server: list[str], tmp_path: Path) -> None:
    home, specs = tmp_path / "home", tmp_path / "all-specs"
    work = home / "code" / "app"
    work.mkdir(parents=True)
    environment = {
        "HOME": str(home),
        "OPENSPEC_ROOT": str(specs),
        "OPENSPEC_AUTO_PROJECT_ROOT": "true",
    }
    async with stdio_client(server, cwd=work, environment=environment) as client:
        await client.read("openspec://specs")
        assert not specs.exists()
        await client.value("init")
        assert (specs / "code/app/openspec/project.md").is_file()
    outside = tmp_path / "home2" / "app"  # begins like the home folder, and is not in it
    outside.mkdir(parents=True)
    async with stdio_client(server, cwd=outside, environment=environment) as client:
        await client.value("init")
    below = specs / "_root" / outside.relative_to("/")
    assert (below / "openspec/project.md").is_file()


async def test_the_server_looks_in_its_root_alone(server: list[str], project: Path) -> None:
    inner = project / "src"
    inner.mkdir()
    async with stdio_client(server, cwd=inner) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("list")
        assert failed.value.envelope["details"]["reason"] == "no_openspec_root"


async def test_watched_resources_are_told_of_edits(server: list[str], shop: Path) -> None:
    async with stdio_client(server, cwd=shop) as client:
        await client.tools()
        for uri in (CHANGES, f"{CHANGES}/add-lockout/tasks", "openspec://specs"):
            await client.request("resources/subscribe", {"uri": uri})
        await client.read(f"{CHANGES}/add-lockout/tasks")
        (shop / "openspec/changes/add-lockout/tasks.md").write_text("- [ ] 1.1 Again\n")
        told = await client.notified("notifications/resources/updated", 2)
        assert {one["params"]["uri"] for one in told} == {
            CHANGES,
            f"{CHANGES}/add-lockout/tasks",
        }
        await client.value("archive", name="add-lockout", force=True)
        told = await client.notified("notifications/resources/updated", 5)
        assert "openspec://specs" in {one["params"]["uri"] for one in told}


async def test_it_serves_over_http_too(server: list[str], shop: Path) -> None:
    from mcp import Client

    arguments = [*server, "--transport", "http", "--port", "0", "--root", str(shop)]
    async with http_server(arguments) as running, Client(running.url) as client:
        answer = await client.call_tool("list", {"specs": True})
        assert "auth" in str(answer.structured_content)


async def test_a_second_name_serves_the_same(server: list[str], shop: Path) -> None:
    alone = str(Path(server[0]).with_name("openspec-mcp"))
    async with stdio_client([alone], cwd=shop) as client:
        assert (await client.value("list"))["count"] == 1


async def test_inside_the_host_every_tool_has_the_packs_prefix(shop: Path) -> None:
    from mcp_host.testing import hosted

    async with hosted({"openspec": "mcp_host_openspec.plugin"}, root=shop) as host:
        assert set(host.names()) == {
            f"openspec_{name}"
            for name in ("init", "list", "show", "validate", "archive", "update_project_context")
        }
        (text,) = await host.prompt("openspec-apply", changeId="add-lockout")
        assert "openspec_show" in text
        assert (await host.value("openspec_list"))["count"] == 1


async def test_a_tree_that_appears_later_is_served(server: list[str], tmp_path: Path) -> None:
    project = tmp_path / "later"
    project.mkdir()
    async with stdio_client(server, cwd=project) as client:
        await client.tools()
        await client.request("resources/subscribe", {"uri": "openspec://specs"})
        await client.read("openspec://specs")
        (project / "openspec/specs").mkdir(parents=True)
        await client.notified("notifications/resources/updated", 1)
        assert (await client.value("list", specs=True))["count"] == 0
