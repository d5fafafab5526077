"""What a model may do: six tools. What they answer is made in `service/service.py`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp_host import Context, tool
from pydantic import Field

if TYPE_CHECKING:
    from .service.service import Service

Answer = dict[str, Any]
Loss = Literal["L2", "L3", "L5", "L6", "L7", "L8", "L9", "L10"]
Cursor = Annotated[str | None, Field(description="next_cursor of the answer before")]
Project = Annotated[str | None, Field(description="A worktree, or a folder with a tree of its own")]
Limit = Annotated[int | None, Field(ge=1, description="At most so many rows")]
Assistant = Literal["claude", "codex", "cursor", "github-copilot", "opencode", "windsurf"]


@tool(output="open", destructive=False, open_world=False)
def init(
    service: "Service",
    /,
    path: Annotated[
        str | None, Field(description="The project's folder; it must be this server's own")
    ] = None,
    tools: Annotated[
        list[Assistant] | None, Field(description="Assistants to point at the tree")
    ] = None,
    layout: Annotated[
        Literal["0.x", "1.x"], Field(description="1.x: no AGENTS.md; skills for the assistants")
    ] = "0.x",
    project: Project = None,
) -> Answer:
    """Set up OpenSpec: make the openspec/ folder with instructions, project context and config."""
    return service.at(project).init(path, tuple(tools or ()), layout)


@tool(name="list", read_only=True, output="open", open_world=False)
def list_items(
    service: "Service",
    /,
    specs: Annotated[bool, Field(description="List the specs instead of the changes")] = False,
    long: Annotated[bool, Field(description="With titles, or what each spec is for")] = False,
    find: Annotated[
        str | None,
        Field(description="Find the requirements that say this: is it required already?"),
    ] = None,
    limit: Limit = None,
    cursor: Cursor = None,
    project: Project = None,
) -> Answer:
    """List the active changes with their progress, newest first, or the specs by name."""
    service = service.at(project)
    if find is not None:
        return service.find(find, limit=limit)
    show_rows = service.list_specs if specs else service.list_changes
    return show_rows(long=long, cursor=cursor, limit=limit)


@tool(read_only=True, output="open", open_world=False)
def show(
    service: "Service",
    /,
    name: Annotated[str, Field(description="A change id or a capability, as the list shows it")],
    type: Annotated[
        Literal["change", "spec"], Field(description="What name is the name of")
    ] = "change",
    part: Annotated[
        str | None,
        Field(
            description="Only proposal, tasks, design, deltas or specs/<capability> of a change; "
            "next: how to write its next artifact; apply: how to carry it out; of a spec content, "
            "requirements or a requirement's name"
        ),
    ] = None,
    view: Annotated[
        Literal["budget", "cli"], Field(description="cli: whole, as the command prints it")
    ] = "budget",
    cursor: Cursor = None,
    project: Project = None,
) -> Answer:
    """Show a change (proposal, tasks, design, deltas, progress) or a spec (its requirements)."""
    service = service.at(project)
    show_one = service.show_change if type == "change" else service.show_spec
    return show_one(name, part=part, view=view, cursor=cursor)


@tool(read_only=True, output="open", timeout=60, open_world=False)
def validate(
    service: "Service",
    /,
    name: Annotated[
        str | None, Field(description="A change id or a capability; everything without it")
    ] = None,
    type: Annotated[
        Literal["change", "spec", "all"], Field(description="What to validate, or what name means")
    ] = "all",
    strict: Annotated[bool, Field(description="Warnings make it invalid too")] = False,
    only: Annotated[
        list[Literal["errors", "warnings", "infos", "notes", "items"]] | None,
        Field(description="Only these lists"),
    ] = None,
    coverage: Annotated[bool, Field(description="Which scenarios have tests")] = False,
    limit: Limit = None,
    cursor: Cursor = None,
    project: Project = None,
) -> Answer:
    """Validate changes and specs: every finding with its rule, path and line, and what to do."""
    return service.at(project).validate(
        name, type, strict=strict, only=only or (), coverage=coverage, cursor=cursor, limit=limit
    )


@tool(output="open", destructive=True, timeout=60, open_world=False)
def archive(
    service: "Service",
    /,
    name: Annotated[str, Field(description="The change's id")],
    updateSpecs: Annotated[bool, Field(description="Merge its deltas into the specs")] = True,
    dryRun: Annotated[
        bool, Field(description="Only show the diffs, and what would be dropped or refused")
    ] = False,
    force: Annotated[bool, Field(description="Archive although tasks are open")] = False,
    validate: Annotated[bool, Field(description="Refuse what is not valid")] = True,
    accept: Annotated[
        list[Loss] | None, Field(description="Losses a refusal named, to be accepted")
    ] = None,
    part: Annotated[
        str | None, Field(description="With dryRun: only the diff of this capability")
    ] = None,
    cursor: Cursor = None,
    project: Project = None,
    *,
    context: Context,
) -> Answer:
    """Archive a finished change: merge its deltas into the specs and move it, all or nothing."""
    return service.at(project).archive(
        name,
        update_specs=updateSpecs,
        dry_run=dryRun,
        force=force,
        validate=validate,
        accept=accept or (),
        part=part,
        cursor=cursor,
        wanted=lambda: not context.cancelled,
    )


@tool(output="open", destructive=True, open_world=False)
def update_project_context(
    service: "Service",
    /,
    content: Annotated[str, Field(description="Markdown")],
    merge: Annotated[bool, Field(description="Append instead of replacing")] = False,
    section: Annotated[
        str | None, Field(description="Only this section, by its title; made where missing")
    ] = None,
    target: Annotated[
        Literal["project.md", "config"], Field(description="config: the context in config.yaml")
    ] = "project.md",
    project: Project = None,
) -> Answer:
    """Write openspec/project.md: all of it, one section, or an addition to either."""
    return service.at(project).update_context(content, merge=merge, section=section, target=target)
