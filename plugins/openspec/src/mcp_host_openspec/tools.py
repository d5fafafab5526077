"""What a model may do: six tools."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp_host import Context, tool
from pydantic import Field

from .errors import InvalidName, Refused, TasksIncomplete
from .service import Options, Plan, check_accepted, shapes
from .service.losses import ACCEPTABLE

if TYPE_CHECKING:
    from .opened import Opened
    from .service import OpenSpec

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
    _check_own_project(opened.openspec, path)
    created = opened.openspec.init(tuple(tools or ()))
    opened.set_up()
    return {
        "success": True,
        "path": str(created.path),
        "filesCreated": list(created.files),
        "nextSteps": [
            f"Describe the project with {opened.tool_name('update_project_context')}.",
            "Propose a first change with the prompt openspec-propose.",
        ],
    }


@tool(name="list", read_only=True, output="open")
def list_items(
    opened: "Opened",
    /,
    specs: Annotated[bool, Field(description="List the specs instead of the changes")] = False,
    long: Annotated[bool, Field(description="With titles, or what each spec is for")] = False,
) -> Answer:
    """List the active changes with their progress, newest first, or the specs by name."""
    openspec = opened.openspec
    if specs:
        spec_rows = openspec.list_specs()
        return {
            "type": "specs",
            "count": len(spec_rows),
            "specs": [
                {
                    "capability": row.id,
                    "requirementCount": row.requirements,
                    **({"summary": row.summary} if long and row.summary else {}),
                }
                for row in spec_rows
            ],
        }
    rows = openspec.list_changes()
    return {
        "type": "changes",
        "count": len(rows),
        "changes": [
            {
                "id": row.id,
                "hasProposal": "proposal.md" in row.files,
                "hasTasks": "tasks.md" in row.files,
                "hasDesign": "design.md" in row.files,
                **({"progress": shapes.progress(row.progress)} if row.progress.total else {}),
                "status": row.progress.status,
                "lastModified": shapes.timestamp(row.modified),
                **({"title": openspec.title(row.id)} if long else {}),
                **({"nested": list(row.nested)} if row.nested else {}),
            }
            for row in rows
        ],
        "hint": f"{opened.tool_name('show')} gives a change in full.",
        **({"warnings": warnings} if (warnings := shapes.wrapping_warnings(rows)) else {}),
    }


@tool(read_only=True, output="open")
def show(
    opened: "Opened",
    /,
    name: Annotated[str, Field(description="A change id or a capability, as the list shows it")],
    type: Literal["change", "spec"] = "change",
) -> Answer:
    """Show a change (proposal, tasks, design, deltas, progress) or a spec (its requirements)."""
    openspec = opened.openspec
    if type == "change":
        view = openspec.change(name)
        return {"type": "change", "changeId": view.id, **shapes.change_view(view)}
    spec = openspec.spec(name)
    return {
        "type": "spec",
        "capability": name,
        **shapes.spec_view(name, spec),
        "content": spec.text.removeprefix("\ufeff"),
    }


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
    openspec = opened.openspec
    if name is None:
        reports = openspec.validate_all(type)
        types = ["change", "spec"] if type == "all" else [type]
    else:
        reports = [openspec.validate(name, openspec.kind_of(name) if type == "all" else type)]
        types = [reports[0].type]
    items = [{"id": r.id, "type": r.type, "valid": r.valid(strict=strict)} for r in reports]
    return {
        "valid": all(item["valid"] for item in items),
        "target": name if name is not None else type,
        "strict": strict,
        "errors": shapes.flat(reports, "ERROR"),
        "warnings": shapes.flat(reports, "WARNING"),
        "infos": shapes.flat(reports, "INFO"),
        "notes": shapes.flat_notes(reports),
        "items": items,
        "summary": shapes.summary(items, types),
    }


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
    options = Options(updateSpecs, force, validate, check_accepted(accept or ()))
    if dryRun:
        return _preview(opened.openspec, name, options)
    plan = opened.openspec.archive(name, options, wanted=lambda: not context.cancelled)
    validator = opened.tool_name("validate")
    return {
        "success": True,
        "changeId": plan.change,
        "archivedTo": f"openspec/changes/archive/{plan.target.name}",
        **shapes.archived(plan),
        "specs": shapes.operations(plan, diffs=False),
        "nextSteps": [f"Validate the specs with {validator}, type='spec'."]
        if plan.specs_updated
        else [],
    }


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
    update = opened.openspec.update_context(content, merge=merge, section=section)
    return {"success": True, "path": str(update.path), "action": update.action}


def _check_own_project(openspec: "OpenSpec", path: str | None) -> None:
    if path is None:
        return
    root = openspec.root.path
    if "\0" in path or (root / path).resolve() != root.resolve():
        raise InvalidName("path", path, f"is not this server's project, {root}")


def _preview(openspec: "OpenSpec", name: str, options: Options) -> Answer:
    """What an archive would do; where it would be refused, all reasons, and what it would do."""
    problems: list[Answer] = []
    plan: Plan | None = None
    while plan is None:
        try:
            plan = openspec.plan_archive(name, options)
        except Refused as refused:
            problems.append(_problem(refused))
            lenient = _without_obstacle(options, refused)
            if lenient is None:
                break
            options = lenient
    return {
        "success": True,
        "dryRun": True,
        "changeId": name,
        "ready": not problems,
        "errors": problems,
        "operations": shapes.operations(plan, diffs=True) if plan else [],
        **(_outline(plan) if plan else {}),
    }


def _without_obstacle(options: Options, refused: Refused) -> Options | None:
    """The options under which this refusal would not have come; None where there are none."""
    if isinstance(refused, TasksIncomplete):
        return replace(options, force=True)
    if "losses" in refused.details:
        return replace(options, accept=frozenset(ACCEPTABLE) - {"L9"} | options.accept)
    return None


def _outline(plan: Plan) -> Answer:
    return {
        "archivedTo": f"openspec/changes/archive/{plan.target.name}",
        "specsUpdated": plan.specs_updated,
        "totals": plan.totals.as_dict() if plan.totals else None,
        "progress": shapes.progress(plan.progress),
        "warnings": list(plan.warnings),
        "dropped": shapes.dropped_lines(plan),
    }


def _problem(refused: Refused) -> Answer:
    return {
        "code": refused.code,
        "message": str(refused),
        **{key: value for key, value in refused.details.items() if key != "reason"},
        "suggestions": refused.suggestions,
    }
