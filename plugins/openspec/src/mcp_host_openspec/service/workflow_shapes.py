"""The workflow's answers as plain data, key for key as the reference tool prints them."""

from typing import Any

from ..storage.metadata import ProjectConfig
from ..storage.roots import Root
from ..storage.schemas import SchemaPlace
from .workflow import ApplyInstructions, ArtifactInstructions, ArtifactStatus, ChangeStatus

Data = dict[str, Any]


def planning_home(root: Root) -> Data:
    """Where changes are planned."""
    path = root.path.resolve()
    return {
        "kind": "repo",
        "root": str(path),
        "changesDir": str(path / root.folder / "changes"),
        "defaultSchema": "spec-driven",
    }


def status(shown: ChangeStatus, root: Root) -> Data:
    """`status` of one change."""
    return {
        "changeName": shown.change,
        "schemaName": shown.place.name,
        "planningHome": planning_home(root),
        "changeRoot": str(shown.folder),
        "artifactPaths": {one.id: _paths(shown.of(one.id)) for one in shown.schema.artifacts},
        "isPlanningComplete": shown.complete,
        "isComplete": shown.complete,
        "applyRequires": list(shown.apply_requires),
        "nextSteps": _next_steps(shown),
        "actionContext": {
            "mode": "repo-local",
            "sourceOfTruth": "repo",
            "planningArtifacts": [one.artifact.id for one in shown.artifacts],
            "linkedContext": [],
            "allowedEditRoots": [str(root.path.resolve())],
            "requiresAffectedAreaSelection": False,
            "constraints": ["Edit the change's artifacts and the code of this project only."],
        },
        "artifacts": [_artifact(one) for one in shown.artifacts],
    }


def next_command(shown: ChangeStatus) -> str | None:
    """The command that goes on with a change; None where nothing is ready and not all is there."""
    artifact = shown.next_artifact or ("apply" if shown.complete else None)
    if artifact is None:
        return None
    return f'openspec instructions {artifact} --change "{shown.change}" --json'


def instructions(shown: ArtifactInstructions, root: Root) -> Data:
    """`instructions` for one artifact."""
    artifact = shown.artifact.artifact
    data: Data = {
        "changeName": shown.status.change,
        "artifactId": artifact.id,
        "schemaName": shown.status.place.name,
        "changeDir": str(shown.status.folder),
        "planningHome": planning_home(root),
        **_paths(shown.artifact),
        "description": artifact.description,
    }
    if artifact.instruction is not None:
        data["instruction"] = artifact.instruction
    if shown.context is not None:
        data["context"] = shown.context
    if shown.rules:
        data["rules"] = list(shown.rules)
    if shown.artifact.state == "skipped":
        data["skipped"] = True
        data["warning"] = SKIPPED
    data["template"] = shown.template
    data["dependencies"] = [
        {
            "id": one.artifact.id,
            "done": one.state in ("done", "skipped"),
            "path": one.artifact.generates,
            "description": one.artifact.description,
            **({"skipped": True} if one.state == "skipped" else {}),
        }
        for one in shown.dependencies
    ]
    data["unlocks"] = list(shown.unlocks)
    return data


SKIPPED = (
    "The change says skip_specs: true in its .openspec.yaml, so this artifact is skipped.\n"
    "Do not write spec files: they would contradict that. Where requirements change after all, "
    "take skip_specs out and run this command again."
)


def apply(shown: ApplyInstructions) -> Data:
    """`instructions apply`."""
    change = shown.status
    data: Data = {
        "changeName": change.change,
        "changeDir": str(change.folder),
        "schemaName": change.place.name,
        "contextFiles": {
            one.id: [str(path) for path in change.of(one.id).files]
            for one in change.schema.artifacts
            if change.of(one.id).files
        },
        "progress": {
            "total": shown.total,
            "complete": shown.completed,
            "remaining": shown.total - shown.completed,
        },
        "tasks": [
            {"id": str(number), "description": text, "done": done}
            for number, (text, done) in enumerate(shown.tasks, 1)
        ],
        "taskTrackingConfigured": shown.tracks is not None,
    }
    if shown.unavailable:
        data["unavailableTrackingFiles"] = [
            {"path": str(path), "reason": reason} for path, reason in shown.unavailable
        ]
    data["state"] = shown.state
    if shown.missing:
        data["missingArtifacts"] = list(shown.missing)
    if shown.missing_before:
        data["missingPrerequisites"] = list(shown.missing_before)
    if warnings := apply_warnings(shown):
        data["warnings"] = warnings
    return {**data, "instruction": _apply_instruction(shown), **operation(shown.config, "apply")}


def operation(config: ProjectConfig, name: str) -> Data:
    """What the project's configuration says about an operation."""
    data: Data = {}
    if config.context is not None and config.context.strip():
        data["context"] = config.context
    if name in config.guidance:
        data["operationGuidance"] = list(config.guidance[name])
    return data


def apply_warnings(shown: ApplyInstructions) -> list[str]:
    """What is wrong with a change that could be carried out all the same."""
    change = shown.status.change
    warnings = [
        f"specs/{path} is read by nothing, so validating '{change}' fails on it and an archive "
        f"would not merge it. Move its requirements to specs/{home}."
        for path, home in shown.unread
    ]
    if shown.lacks_specs:
        specs = [one.id for one in shown.status.schema.artifacts if one.is_spec]
        target = specs[0] if len(specs) == 1 else "<artifact-id>"
        warnings.append(
            "The change has no deltas and does not say `skip_specs: true`, so `openspec validate "
            f"{change}` fails on it. Write the deltas first (`openspec instructions {target} "
            f"--change {change}`), or say `skip_specs: true` in "
            f"{shown.status.folder / '.openspec.yaml'} if no behaviour changes."
        )
    return warnings


def schemas(places: list[SchemaPlace]) -> list[Data]:
    """`schemas`."""
    return [
        {
            "name": place.name,
            "description": place.schema.description,
            "artifacts": [one.id for one in place.schema.artifacts],
            "source": place.origin,
        }
        for place in places
    ]


def templates(place: SchemaPlace) -> Data:
    """`templates`."""
    folder = place.folder / "templates"
    return {
        one.id: {"path": str((folder / one.template).resolve()), "source": place.origin}
        for one in place.schema.artifacts
    }


def _paths(one: ArtifactStatus) -> Data:
    return {
        "outputPath": one.artifact.generates,
        "resolvedOutputPath": str(one.path),
        "existingOutputPaths": [str(path) for path in one.files],
    }


def _artifact(one: ArtifactStatus) -> Data:
    data: Data = {
        "id": one.artifact.id,
        "outputPath": one.artifact.generates,
        "status": one.state,
        "requires": list(one.artifact.requires),
    }
    if one.state == "blocked":
        data["missingDeps"] = list(one.missing)
    return data


def _next_steps(shown: ChangeStatus) -> list[str]:
    command = next_command(shown)
    if command is None:
        return []
    if shown.next_artifact:
        return [f"Run {command} before writing that artifact."]
    return [f"All planning artifacts are there. Run {command} to see how far the work is."]


def _apply_instruction(shown: ApplyInstructions) -> str:
    """What to do now."""
    change = shown.status.change
    text = _what_to_do(shown)
    if shown.state == "blocked" and not shown.unavailable:
        target = _artifact_to_make(shown)
        text += (
            f"\nMake it with `openspec instructions {target} --change {change}` "
            f"(`openspec status --change {change}` shows what is missing)."
        )
    if shown.unavailable:
        files = "\n".join(f"- {path}: {reason}" for path, reason in shown.unavailable)
        text += f"\nWhich tasks are done is not certain; these files cannot be read:\n{files}"
    return text


def _what_to_do(shown: ApplyInstructions) -> str:
    if shown.missing:
        text = f"It cannot be carried out yet. Missing artifacts: {', '.join(shown.missing)}."
        if len(shown.missing_before) > len(shown.missing):
            order = ", ".join(shown.missing_before)
            text += f"\nNot made yet, in the order of making: {order}. Make those it needs first."
        return text
    name = (shown.tracks or "").rsplit("/", 1)[-1]
    if shown.state == "blocked" and not shown.tracked:
        return f"The file {name} is missing."
    if shown.state == "blocked" and shown.unavailable:
        return "There is no task that can be read."
    if shown.state == "blocked":
        return f"The file {name} holds no task. Add tasks to it."
    if shown.state == "all_done":
        return (
            "All tasks are done, and the change can be archived.\n"
            "Run the tests and look at the changes once more before that."
        )
    own = shown.status.schema.apply.instruction if shown.status.schema.apply else None
    if own is not None and own.strip():
        return own.strip()
    if shown.tracks is None:
        return "All required artifacts are there. Go on with the implementation."
    return "Read the context files, do the open tasks in order, and tick each when it is done."


def _artifact_to_make(shown: ApplyInstructions) -> str:
    if len(shown.missing_before) == 1:
        return shown.missing_before[0]
    if shown.missing:
        return "<artifact>"
    owner = (one.id for one in shown.status.schema.artifacts if one.generates == shown.tracks)
    return next(owner, "<artifact>")
