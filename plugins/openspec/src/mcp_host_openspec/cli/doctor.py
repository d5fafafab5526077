"""`openspec doctor`: whether the tree is sound."""

from argparse import Namespace

from ..service import shapes
from ..storage.files import is_folder
from ..storage.roots import config_file
from .output import CommandError, Data, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Say what a sound tree has and this one lacks."""
    try:
        service = open_tree(implicit=False)
    except CommandError as failed:
        failed.payload = {"root": None, "store": None, "references": []}
        raise
    tree = service.tree
    missing = [
        f"{folder.relative_to(service.root.path)}/"
        for folder in (tree.specs, tree.changes, tree.archive)
        if not is_folder(folder)
    ]
    if config_file(tree.openspec) is None:
        missing.append("openspec/config.yaml")
    found: list[Data] = [
        {"severity": "error", "code": "root_incomplete", "message": f"{name} is missing."}
        for name in missing
    ]
    if options.json:
        root = {**shapes.root_of(service.root), "healthy": not found, "status": found}
        print_json({"root": root, "store": None, "references": [], "status": []})
        return 0
    say(f"OpenSpec root: {service.root.path}", "Healthy" if not found else "Not healthy:")
    say(*(f"  {one['message']}" for one in found))
    return 0
