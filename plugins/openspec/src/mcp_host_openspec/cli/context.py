"""`openspec context`: what belongs to the work on a tree, which here is the tree alone."""

import json
from argparse import Namespace
from pathlib import Path

from ..service import shapes
from ..storage.files import exists, is_folder
from .output import CommandError, Data, complain, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Print the root; with --code-workspace also write a workspace file for an editor."""
    payload: Data = {"root": None, "members": []}
    try:
        service = open_tree(implicit=False)
        if options.code_workspace:
            _write_workspace(Path(options.code_workspace), service.root.path, options.force)
    except CommandError as failed:
        failed.payload = payload
        raise
    root = {**shapes.root_of(service.root), "role": "openspec_root"}
    if options.json:
        print_json({"root": root, "members": [], "status": []})
        return 0
    name = service.root.path.name
    say(
        f"Working context for {name} ({service.root.path})",
        "",
        "OpenSpec root",
        f"  {name}  {service.root.path}",
        "",
        "No references declared; the working set is this root alone.",
    )
    return 0


def _write_workspace(target: Path, root: Path, force: bool) -> None:
    if exists(target) and not force:
        raise CommandError(
            "context_file_exists",
            f"{target.absolute()} exists already.",
            fix="Give --force to replace it, or another path.",
        )
    if not is_folder(target.absolute().parent):
        raise CommandError(
            "context_output_dir_missing",
            f"The folder {target.absolute().parent} must exist.",
            fix="Make the folder first, or give another path.",
        )
    folders = [{"name": root.name, "path": str(root)}]
    target.write_text(json.dumps({"folders": folders}, indent=2) + "\n", "utf-8")
    complain(f"Wrote {target.absolute()} (1 folders)")
