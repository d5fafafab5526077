"""`openspec update`: bring the files of assistants up to date."""

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from ..model.assistants import Assistant
from ..service import OpenSpec, Root
from ..service.assistant_files import AssistantFiles, Choice
from ..service.copilot import CopilotFiles
from ..service.profiles import adopt_installed, choice_of
from ..storage.files import exists, is_folder
from ..storage.preferences import Preferences
from .output import CommandError, complain, say


def run(options: Namespace) -> int:
    """Write anew what differs from what this release writes, and remove what is not chosen."""
    project = Path(options.item or ".").absolute()
    service = OpenSpec(Root(project, "configured"))
    if not is_folder(service.root.openspec):
        raise CommandError(
            "update_error", f"No OpenSpec folder in {project}.", fix="Run: openspec init"
        )
    files, preferences = AssistantFiles(project, Path.home()), Preferences(os.environ, Path.home())
    if adopted := adopt_installed(preferences, files):
        say(f"Kept as your profile what is installed: {', '.join(adopted.workflows)}.")
    if exists(service.root.openspec / "AGENTS.md"):
        say("openspec/AGENTS.md is of the older layout; it stays as it is.")
    choice, found = choice_of(preferences), files.set_up()
    if not found:
        say("No assistants are set up here. Set some up with: openspec init --tools NAMES")
        return 0
    due = [one for one in found if options.force or not files.is_current(one, choice, found)]
    failed = _write(files, due, found, choice) if due else False
    if not due:
        say(f"All {len(found)} assistants are up to date: {', '.join(one.id for one in found)}.")
        say("--force writes the files all the same.")
    _refresh_cloud(service, project, found)
    if new := [one.name for one in files.present() if one not in found]:
        say(f"New here: {', '.join(new)}. Set them up with: openspec init")
    return int(failed)


def _write(
    files: AssistantFiles, due: Sequence[Assistant], found: Sequence[Assistant], choice: Choice
) -> bool:
    """Write the files of those that need it; returns whether some could not be written."""
    failed = False
    # A folder that several share is written for the same one as always, so all are given.
    for one in files.write(found, choice, tidy=True):
        if one.error is not None:
            failed = True
            complain(f"✗ {one.assistant.name}: {one.error}")
        elif one.assistant in due:
            gone = f", {len(one.removed)} removed" if one.removed else ""
            say(f"✓ {one.assistant.name}: {len(one.files)} files written{gone}")
    return failed


def _refresh_cloud(service: OpenSpec, project: Path, found: Sequence[Assistant]) -> None:
    cloud, said = CopilotFiles(project), service.tree.config.cloud_agent
    has_copilot = any(one.id == "github-copilot" for one in found)
    if has_copilot and (said or (said is None and cloud.are_there())):
        cloud.write()
    elif (said is False or not has_copilot) and (gone := cloud.remove()):
        say(f"Removed: {', '.join(gone)}")
