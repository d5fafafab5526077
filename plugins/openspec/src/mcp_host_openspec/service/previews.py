"""What an archive over MCP would do, and where it would be refused."""

from ..errors import NotFoundError, RefusedError, TasksIncompleteError
from . import shapes
from .archive_plan import Options, Plan
from .budget import Answer, text_page, within
from .losses import ACCEPTABLE
from .openspec import OpenSpec


def preview(openspec: OpenSpec, name: str, options: Options) -> Answer:
    """What an archive would do; where it would be refused, all reasons, and what it would do."""
    problems: list[Answer] = []
    plan: Plan | None = None
    while plan is None:
        try:
            plan = openspec.plan_archive(name, options)
        except RefusedError as refused:
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
        "overlaps": shapes.overlaps(openspec.overlaps(name).get(name, ())),
        **(_outline(plan) if plan else {}),
    }


def in_budget(preview: Answer, way: str) -> Answer:
    """A preview with its long diffs cut, and the way to the whole of them."""
    cut: Answer = within(preview)
    if cut == preview:
        return preview
    return {**cut, "truncated": True, "hint": f"{way}=<capability> gives a diff in pages."}


def diff_page(preview: Answer, capability: str, cursor: str | None) -> Answer:
    """One page of what would become of one spec."""
    names = [operation["capability"] for operation in preview["operations"]]
    if capability not in names:
        raise NotFoundError("Part", capability, names)
    page = text_page(preview["operations"][names.index(capability)]["diff"], cursor)
    head = {key: preview[key] for key in ("success", "dryRun", "changeId", "ready")}
    return {**head, "part": capability, **shapes.page("diff", page)}


def _without_obstacle(options: Options, refused: RefusedError) -> Options | None:
    """The options under which this refusal would not have come; None where there are none."""
    if isinstance(refused, TasksIncompleteError):
        return options._replace(force=True)
    if "losses" in refused.details:
        return options._replace(accept=frozenset(ACCEPTABLE) - {"L9"} | options.accept)
    return None


def _outline(plan: Plan) -> Answer:
    return {
        "archivedTo": plan.target_name,
        "specsUpdated": plan.specs_updated,
        "totals": plan.totals.as_dict() if plan.totals else None,
        "progress": shapes.progress(plan.progress),
        "warnings": list(plan.warnings),
        "dropped": shapes.dropped_lines(plan),
    }


def _problem(refused: RefusedError) -> Answer:
    return {
        "code": refused.code,
        "message": str(refused),
        **{key: value for key, value in refused.details.items() if key != "reason"},
        "suggestions": refused.suggestions,
    }
