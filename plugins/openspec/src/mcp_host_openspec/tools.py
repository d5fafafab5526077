"""What a model may do: six tools. What they answer is made in `opened.py`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp_host import Context, tool
from pydantic import Field

if TYPE_CHECKING:
    from .opened import Opened

Answer = dict[str, Any]
Loss = Literal["L2", "L3", "L6", "L7", "L8", "L9", "L10"]
Assistant = Literal["claude", "codex", "cursor", "github-copilot", "opencode", "windsurf"]


@tool(output="open", destructive=False)
def init(
    opened: "Opened",
    /,
    path: Annotated[
        str | None, Field(description="The project's folder; it must be this server's own")
    ] = None,
    tools: Annotated[
        list[Assistant] | None, Field(description="Assistants to point at the tree")
    ] = None,
) -> Answer:
    """Set up OpenSpec: make the openspec/ folder with instructions, project context and config."""
    return opened.init(path, tuple(tools or ()))


@tool(name="list", read_only=True, output="open")
def list_items(
    opened: "Opened",
    /,
    specs: Annotated[bool, Field(description="List the specs instead of the changes")] = False,
    long: Annotated[bool, Field(description="With titles, or what each spec is for")] = False,
) -> Answer:
    """List the active changes with their progress, newest first, or the specs by name."""
    return opened.list_specs(long=long) if specs else opened.list_changes(long=long)


@tool(read_only=True, output="open")
def show(
    opened: "Opened",
    /,
    name: Annotated[str, Field(description="A change id or a capability, as the list shows it")],
    type: Literal["change", "spec"] = "change",
) -> Answer:
    """Show a change (proposal, tasks, design, deltas, progress) or a spec (its requirements)."""
    return opened.show_change(name) if type == "change" else opened.show_spec(name)


@tool(read_only=True, output="open", timeout=60)
def validate(
    opened: "Opened",
    /,
    name: Annotated[
        str | None, Field(description="A change id or a capability; everything without it")
    ] = None,
    type: Annotated[
        Literal["change", "spec", "all"], Field(description="What to validate, or what name means")
    ] = "all",
    strict: Annotated[bool, Field(description="Warnings make it invalid too")] = False,
) -> Answer:
    """Validate changes and specs: every finding with its rule, path and line, and what to do."""
    return opened.validate(name, type, strict=strict)


@tool(output="open", destructive=True, timeout=60)
def archive(
    opened: "Opened",
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
    *,
    context: Context,
) -> Answer:
    """Archive a finished change: merge its deltas into the specs and move it, all or nothing."""
    return opened.archive(
        name,
        update_specs=updateSpecs,
        dry_run=dryRun,
        force=force,
        validate=validate,
        accept=accept or (),
        wanted=lambda: not context.cancelled,
    )


@tool(output="open", destructive=True)
def update_project_context(
    opened: "Opened",
    /,
    content: Annotated[str, Field(description="Markdown")],
    merge: Annotated[bool, Field(description="Append instead of replacing")] = False,
    section: Annotated[
        str | None, Field(description="Only this section, by its title; made where missing")
    ] = None,
) -> Answer:
    """Write openspec/project.md: all of it, one section, or an addition to either."""
    return opened.update_context(content, merge=merge, section=section)
