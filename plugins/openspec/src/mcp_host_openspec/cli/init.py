"""`openspec init`."""

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Final

from ..errors import AlreadyInitialisedError, OpenSpecError
from ..model.assistants import ASSISTANTS, RENAMED, Assistant
from ..service import OpenSpec, Root
from ..service.assistant_files import AssistantFiles, Choice, Written
from ..service.copilot import CopilotFiles
from ..service.profiles import PROFILES, adopt_installed, choice_of
from ..service.setup import TOOL_FILES
from ..storage.files import exists, is_folder
from ..storage.preferences import Preferences
from ..storage.roots import from_environment
from .output import CommandError, Data, failure, print_json, say

_OTHER: Final = "For an assistant that is not listed name agents, whose skills many of them read."


def run(options: Namespace) -> int:
    """Make a tree in a folder, or what one that is there lacks; with --legacy the older layout."""
    given = Path(options.item).absolute() if options.item else None
    if given is not None and exists(given) and not is_folder(given):
        raise CommandError("init_error", f"{given} is a file, not a folder.")
    here = Path.cwd()
    root = None if given else from_environment(here, os.environ, Path.home())
    service = OpenSpec(root or Root(given or here, "configured"))
    if options.legacy:
        return _legacy(service, options)
    return _current(service, given or here, options)


def _current(service: OpenSpec, project: Path, options: Namespace) -> int:
    """Make the layout of the current release, and the files of assistants."""
    files = AssistantFiles(project, Path.home())
    preferences = Preferences(os.environ, Path.home())
    if service.is_there:
        adopt_installed(preferences, files)
    if options.profile not in (None, *PROFILES):
        raise CommandError(
            "init_error",
            f'Invalid profile "{options.profile}".',
            fix=f"Available profiles: {', '.join(PROFILES)}.",
        )
    choice = choice_of(preferences, options.profile)
    assistants = _assistants(options.tools, files)
    try:
        created = service.init_current(options.language)
    except OpenSpecError as error:
        raise failure(error, "init_error") from error
    written = files.write(assistants, choice)
    cloud = _cloud(service, project, assistants, options)
    names = [*created.files, *(_shown(path, project) for one in written for path in one.files)]
    failed = [one for one in written if one.error is not None]
    if options.json:
        answer: Data = {"path": str(created.path), "created": [*names, *cloud]}
        if failed:
            answer["failed"] = {one.assistant.id: one.error for one in failed}
        print_json(answer)
    else:
        say(f"OpenSpec is set up in {created.path}:")
        say(*(f"  {name}" for name in (*created.files, *cloud)))
        _say_what_was_made(written, choice)
        if not names:
            say("  nothing was missing")
        if exists(created.path / "AGENTS.md"):
            say(f"{created.path / 'AGENTS.md'} is of the older layout; it stays as it is.")
        say(f"Next: describe the project in {service.root.folder}/config.yaml, as its context.")
    if failed:
        listed = ", ".join(f"{one.assistant.name} ({one.error})" for one in failed)
        raise CommandError("init_error", f"Some assistants could not be set up: {listed}")
    return 0


def _legacy(service: OpenSpec, options: Namespace) -> int:
    """Make the specification's layout, with AGENTS.md and project.md."""
    given = () if options.tools in (None, "none") else tuple(options.tools.split(","))
    names = tuple(TOOL_FILES) if given == ("all",) else tuple(name.strip() for name in given)
    if unknown := [name for name in names if name not in TOOL_FILES]:
        raise CommandError(
            "init_error",
            f"Invalid tool(s): {', '.join(unknown)}.",
            fix=f"Name some of: all, none, {', '.join(TOOL_FILES)}.",
        )
    try:
        created = service.init(names)
    except AlreadyInitialisedError as error:
        if options.json:
            raise failure(error, "already_initialized", payload={"created": []}) from error
        say(f"{error} Nothing to do.")
        return 0
    except OpenSpecError as error:
        raise failure(error, "init_error") from error
    if options.json:
        print_json({"path": str(created.path), "created": list(created.files)})
        return 0
    say(f"OpenSpec is set up in {created.path}:", *(f"  {name}" for name in created.files))
    say("Next: describe the project in openspec/project.md.")
    return 0


def _assistants(given: str | None, files: AssistantFiles) -> tuple[Assistant, ...]:
    """The assistants that are named, else those that the project shows signs of."""
    if given is None:
        found = files.present()
        if sys.stdin.isatty() and sys.stdout.isatty():
            given = _asked(found)
        elif found:
            return found
        else:
            raise CommandError(
                "init_error",
                "No assistant was found in the project, and --tools was not given.",
                fix=f"Give --tools none, all, or some of: {', '.join(ASSISTANTS)}. {_OTHER}",
            )
    given = given.strip().lower()
    if not given:
        raise CommandError("init_error", "--tools must be all, none, or names with commas between.")
    if given in ("all", "none"):
        return tuple(ASSISTANTS.values()) if given == "all" else ()
    names = [name.strip() for name in given.split(",") if name.strip()]
    if "all" in names or "none" in names or not names:
        raise CommandError("init_error", "all and none cannot be combined with names of tools.")
    if unknown := [name for name in names if RENAMED.get(name, name) not in ASSISTANTS]:
        raise CommandError(
            "init_error",
            f"Invalid tool(s): {', '.join(unknown)}.",
            fix=f"Available values: all, none, {', '.join(ASSISTANTS)}. {_OTHER}",
        )
    return tuple(dict.fromkeys(ASSISTANTS[RENAMED.get(name, name)] for name in names))


def _asked(found: tuple[Assistant, ...]) -> str:
    """What a person at a terminal answers; the assistants found, where they answer nothing."""
    default = ",".join(one.id for one in found) or "none"
    say("Assistants: all, none, or some of", f"  {', '.join(ASSISTANTS)}")
    try:
        return input(f"Which [{default}]? ").strip() or default
    except EOFError:
        return default


def _cloud(
    service: OpenSpec, project: Path, assistants: tuple[Assistant, ...], options: Namespace
) -> list[str]:
    """Write or remove the files of Copilot's agent in the cloud, as said now or before."""
    wanted: bool | None = options.copilot_cloud
    if not any(one.id == "github-copilot" for one in assistants):
        if wanted is not None:
            say("--copilot-cloud and --no-copilot-cloud go with --tools github-copilot.")
        return []
    cloud = CopilotFiles(project)
    if wanted is not None:
        service.set_config("githubCopilot", f"{{cloudAgent: {str(wanted).lower()}}}")
    said = service.tree.config.cloud_agent if wanted is None else wanted
    if said or (said is None and cloud.are_there()):
        return cloud.write()
    if said is False:
        cloud.remove()
    return []


def _say_what_was_made(written: list[Written], choice: Choice) -> None:
    done = [one for one in written if one.error is None]
    if not done:
        return
    count = len(choice.workflows)
    kinds = {"both": "skills and commands", "skills": "skills", "commands": "commands"}
    say(f"{count} workflows ({', '.join(choice.workflows)}) as {kinds[choice.delivery]} for:")
    say(*(f"  {one.assistant.name}: {len(one.files)} files" for one in done))


def _shown(path: Path, project: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path)
