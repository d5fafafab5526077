"""What clients may read: ten resources, all Markdown."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from mcp_host import Complete, Embedded, Text, resource
from pydantic import Field

from .errors import BadFileError, NotFoundError, NoTreeError
from .model.uris import ARCHIVE, CHANGES, INSTRUCTIONS, PROJECT, SPECS, change_uri, spec_uri

if TYPE_CHECKING:
    from .model.tasks import Progress
    from .service.service import Service

MIME: Final = "text/markdown"


def changes_like(service: "Service", /, value: str) -> list[str]:
    """The active changes that begin with, or else contain, what was typed."""
    return _like(service.openspec.change_ids(), value)


def capabilities_like(service: "Service", /, value: str) -> list[str]:
    """The capabilities that begin with, or else contain, what was typed."""
    return _like(service.openspec.capabilities(), value)


ChangeId = Annotated[str, Complete(changes_like), Field(description="The id of an active change")]
Capability = Annotated[
    str, Complete(capabilities_like), Field(description="The path of a capability's folder")
]


@resource(INSTRUCTIONS, name="instructions", title="OpenSpec instructions", mime=MIME)
def instructions(service: "Service", /) -> str:
    """How this project works with specs and changes (openspec/AGENTS.md)."""
    return service.openspec.instructions()


@resource(PROJECT, name="project", title="Project context", mime=MIME)
def project(service: "Service", /) -> list[Embedded] | str:
    """What the project is about and its conventions (openspec/project.md)."""
    text, context = service.openspec.project(), service.openspec.config_context()
    if context is None:
        return text
    return [Embedded(PROJECT, text, MIME), Embedded(f"{PROJECT}#config", context, MIME)]


@resource(SPECS, name="specs", title="Specs", mime=MIME)
def specs(service: "Service", /) -> str:
    """All specs, with links to each."""
    openspec = service.openspec
    if not openspec.is_there:
        return _nothing_yet("Specs", service)
    rows = [
        f"- [{row.id}]({spec_uri(row.id)}): "
        + (str(row.problem) if row.problem else _count(row.requirements, "requirement"))
        for row in openspec.list_specs()
    ]
    return _page("Specs", rows, "There are no specs yet.")


@resource(f"{SPECS}/{{capability}}", name="spec", title="A spec", mime=MIME)
def spec(service: "Service", /, capability: Capability) -> Text:
    """What is required of one capability; a '/' in its name is written %2F."""
    try:
        return Text(service.openspec.spec(capability).text.removeprefix("\ufeff"))
    except (NotFoundError, NoTreeError) as missing:
        return _not_found(missing)


@resource(CHANGES, name="changes", title="Active changes", mime=MIME)
def changes(service: "Service", /) -> str:
    """All active changes, with links to each; archived ones are not among them."""
    openspec = service.openspec
    if not openspec.is_there:
        return _nothing_yet("Changes", service)
    rows = [
        f"- [{row.id}]({change_uri(row.id)}): "
        + (str(row.problem) if row.problem else _tasks_done(row.progress))
        for row in openspec.list_changes(recent_first=False)
    ]
    return _page("Changes", rows, "There are no active changes.")


@resource(f"{CHANGES}/{{changeId}}", name="change", title="A change", mime=MIME)
def change(service: "Service", /, changeId: ChangeId) -> list[Embedded] | Text:
    """The proposal, tasks and design of one change, those that are there."""
    openspec = service.openspec
    try:
        openspec.check_change(changeId)
    except (NotFoundError, NoTreeError) as missing:
        return _not_found(missing)
    texts = {
        name: text
        for name in ("proposal", "tasks", "design")
        if (text := _readable(service, changeId, f"{name}.md")) is not None
    }
    if not texts:
        return Text(f"The change '{changeId}' has no proposal.md, tasks.md or design.md yet.")
    return [Embedded(change_uri(changeId, name), text, MIME) for name, text in texts.items()]


@resource(f"{CHANGES}/{{changeId}}/proposal", name="change-proposal", mime=MIME)
def proposal(service: "Service", /, changeId: ChangeId) -> Text:
    """Why a change is made, and what changes."""
    return _change_text(service, changeId, "proposal.md")


@resource(f"{CHANGES}/{{changeId}}/tasks", name="change-tasks", mime=MIME)
def tasks(service: "Service", /, changeId: ChangeId) -> Text:
    """What is to be done for a change, with boxes to tick."""
    return _change_text(service, changeId, "tasks.md")


@resource(f"{CHANGES}/{{changeId}}/design", name="change-design", mime=MIME)
def design(service: "Service", /, changeId: ChangeId) -> Text:
    """The decisions behind a change."""
    return _change_text(service, changeId, "design.md")


@resource(ARCHIVE, name="archive", title="Archived changes", mime=MIME)
def archive(service: "Service", /) -> str:
    """The archived changes, newest first."""
    if not service.openspec.is_there:
        return _nothing_yet("Archive", service)
    rows = [f"- {name}" for name in service.openspec.archived()]
    return _page("Archive", rows, "Nothing is archived yet.")


def _readable(service: "Service", change_id: str, name: str) -> str | None:
    """A text of a change; one that cannot be read says why, and hides no other."""
    try:
        return service.openspec.change_text(change_id, name)
    except BadFileError as error:
        return f"Cannot be read: {error}"


def _change_text(service: "Service", change_id: str, name: str) -> Text:
    try:
        text = service.openspec.change_text(change_id, name)
    except (NotFoundError, NoTreeError) as missing:
        return _not_found(missing)
    if text is None:
        return _not_found(NotFoundError("File", f"changes/{change_id}/{name}"))
    return Text(text)


def _not_found(missing: NotFoundError | NoTreeError) -> Text:
    """The text a reader gets, and the error for whoever looks at the metadata."""
    envelope: dict[str, Any] = {
        "success": False,
        "error": str(missing),
        "code": "not_found",
        "retryable": False,
        "details": missing.details,
    }
    if missing.suggestions:
        envelope["suggestions"] = missing.suggestions
    hint = f" {missing.suggestions[0]}" if missing.suggestions else ""
    if isinstance(missing, NotFoundError):
        text = f"Not found: {missing.kind.lower()} '{missing.name}'.{hint}"
    else:
        text = f"Not found: there is no OpenSpec tree yet.{hint}"
    return Text(text, MIME, {"mcp-host/error": envelope})


def _nothing_yet(title: str, service: "Service") -> str:
    return _page(
        title, [], f"There is no OpenSpec tree yet. Make one with {service.tool_name('init')}."
    )


def _page(title: str, rows: list[str], otherwise: str) -> str:
    return "\n".join([f"# {title}", "", *(rows or [otherwise]), ""])


def _tasks_done(progress: "Progress") -> str:
    if not progress.total:
        return "no tasks"
    return f"{progress.completed} of {_count(progress.total, 'task')} done"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _like(names: list[str], typed: str) -> list[str]:
    begin = [name for name in names if name.startswith(typed)]
    return begin + [name for name in names if typed in name and name not in begin]
