"""Guided ways of working: propose a change, do it, archive it."""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from mcp_host import prompt
from pydantic import Field

from .model.uris import change_uri
from .resources import ChangeId

if TYPE_CHECKING:
    from .service.service import Service
    from .storage.schemas import Schema

Scope = Literal["new-capability", "modify-existing", "refactor", "fix"]

_SCOPES: Final[dict[str, str]] = {
    "new-capability": "It is a new capability: expect ADDED requirements in a spec of its own, "
    "with a '## Purpose'.",
    "modify-existing": "It changes what exists: expect MODIFIED requirements, each copied whole "
    "from the main spec, all scenarios included, and then edited.",
    "refactor": "It is a refactoring: if no behaviour changes, declare 'skip_specs: true' beside "
    "'schema: spec-driven' in the change's .openspec.yaml instead of inventing a requirement.",
    "fix": "It is a fix: if the spec is right and the code is wrong, no delta may be needed; if "
    "the spec is wrong too, MODIFY it.",
}


_ARTIFACTS: Final = """\
create the proposal directory structure:
   - openspec/changes/<id>/proposal.md with '## Why' and '## What Changes'
   - openspec/changes/<id>/tasks.md with boxes to tick, '- [ ] 1.1 …' below '## 1. …'
   - openspec/changes/<id>/design.md only where decisions need explaining
   - openspec/changes/<id>/specs/<capability>/spec.md with '## ADDED Requirements',
     '## MODIFIED Requirements', '## REMOVED Requirements' or '## RENAMED Requirements'; every
     requirement says SHALL or MUST and has a '#### Scenario: …' with WHEN and THEN"""
"""What a change is made of by the built-in schema."""


@prompt(name="openspec-propose", title="Propose a change")
def propose(
    service: "Service",
    /,
    description: Annotated[str, Field(description="What is wanted, in your own words")],
    scope: Annotated[
        Scope | None,
        Field(description="new-capability, modify-existing, refactor or fix"),
    ] = None,
) -> str:
    """Plan a change and write its proposal, tasks and spec deltas."""
    tool = service.tool_name
    schema = service.openspec.own_schema()
    artifacts = _ARTIFACTS if schema is None else _own_artifacts(schema)
    return f"""\
Propose an OpenSpec change for this request:

{description}
{_scope_line(scope)}
1. Read what there is before writing anything:
   - openspec://instructions (how this project writes specs and changes)
   - openspec://project (its context and conventions)
   - openspec://specs (all capabilities), and each spec the request touches
   - openspec://changes (all active changes)
2. Analyze the request for conflicts: does a spec already say this, or the opposite? Does an active
   change touch the same requirements? Ask before going on where the answer is not clear.
3. Choose an id in kebab-case that begins with a verb, and {artifacts}
   For template, context and rules of each artifact: {tool("show")} with the id and part="next"
   gives exactly the next one.
4. Validate the proposal: call {tool("validate")} with the id and strict=true, and settle every
   error, warning and note.
5. Show the proposal and wait for approval. Do not implement anything yet.
"""


def _names(schema: "Schema") -> str:
    """The artifacts of a schema in their order."""
    return ", ".join(artifact.id for artifact in schema.order())


def _steps(change: str, tasks: str | None) -> str:
    """How the tasks of a change are carried out; `tasks` is the file or pattern that holds them."""
    if tasks is None:
        return """\
2. Implement what the artifacts say sequentially. The change's schema names no file of tasks.
3. Keep account of what is done, so that the report at the end can tell it."""
    return f"""\
2. Implement the tasks sequentially, in the order of {tasks}. Do what a task says and no more.
3. Update the task checkboxes as work completes: turn '- [ ]' into '- [x]' in
   openspec/changes/{change}/{tasks} right after each task, never ahead of it."""


def _own_artifacts(schema: "Schema") -> str:
    """What a change is made of by a schema of the project's own."""
    lines = [
        f"begin openspec/changes/<id>/ with a .openspec.yaml of one line, 'schema: {schema.name}'.",
        "   That schema is the project's own. Write its artifacts in this order:",
    ]
    for artifact in schema.order():
        after = f" (after {', '.join(artifact.requires)})" if artifact.requires else ""
        about = f": {' '.join(artifact.description.split())}" if artifact.description else ""
        lines.append(f"   - {artifact.id}, in {artifact.generates}{after}{about}")
    return "\n".join(lines)


def _scope_line(scope: str | None) -> str:
    return f"\n{_SCOPES[scope]}\n" if scope else ""


@prompt(name="openspec-apply", title="Carry out a change")
def apply(service: "Service", /, changeId: ChangeId) -> str:
    """Implement an approved change, task by task."""
    tool = service.tool_name
    service.openspec.check_change(changeId)
    schema = service.openspec.own_schema(changeId)
    artifacts = "proposal, tasks and design"
    tasks: str | None = "tasks.md"
    if schema is not None:
        artifacts = f"by the schema {schema.name}: {_names(schema)}"
        tasks = schema.tasks
    return f"""\
Implement the approved OpenSpec change '{changeId}'.

1. Read the change: {change_uri(changeId)} ({artifacts}), and with {tool("show")} its
   spec deltas. Read the main specs it touches. {tool("show")} with part="apply" says what the
   project wants done while a change is carried out.
{_steps(changeId, tasks)}
4. Validate continuously: run the project's tests, and {tool("validate")} for '{changeId}' whenever
   a delta had to be changed. If the specs turn out wrong, change the deltas and say so.
5. When every box is ticked, report what was done and what was decided on the way. Do not archive.
"""


@prompt(name="openspec-archive", title="Archive a change")
def archive(service: "Service", /, changeId: ChangeId) -> str:
    """Merge a finished change into the specs and archive it."""
    tool = service.tool_name
    service.openspec.check_change(changeId)
    schema = service.openspec.own_schema(changeId)
    there = "" if schema is None else f" Verify that its artifacts are there: {_names(schema)}."
    return f"""\
Archive the finished OpenSpec change '{changeId}'.

1. Verify that all tasks are complete: {tool("show")} gives the progress of '{changeId}'. If tasks
   are open, stop and say which.{there}
2. Run validation: {tool("validate")} for '{changeId}' with strict=true. Settle what it finds.
3. Preview the archive operation: {tool("archive")} with dryRun=true. Read every diff, warning and
   dropped line; nothing that matters may be lost. If it would be refused, fix the delta rather
   than accepting a loss.
4. Execute the archive: {tool("archive")} for '{changeId}'.
5. Verify the post-archive specs: {tool("validate")} with type='spec' and strict=true, and read each
   spec that changed.
"""
