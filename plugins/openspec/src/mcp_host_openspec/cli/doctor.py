"""`openspec doctor`: whether the tree is sound."""

from argparse import Namespace
from collections.abc import Iterator

from ..service import OpenSpec, shapes
from ..storage.files import exists, is_file, is_folder
from .output import CommandError, Data, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Say what a sound tree has and this one lacks."""
    try:
        service = open_tree(implicit=False)
    except CommandError as failed:
        failed.payload = {"root": None, "store": None, "references": []}
        raise
    found = list(_findings(service))
    warnings = list(_warnings(service))
    if options.json:
        root = {**shapes.root_of(service.root), "healthy": not found, "status": found}
        print_json({"root": root, "store": None, "references": [], "status": warnings})
        return 0
    say(f"OpenSpec root: {service.root.path}", "Healthy" if not found else "Not healthy:")
    say(*(f"  {one['message']}" for one in (*found, *warnings)))
    return 0


def _findings(service: OpenSpec) -> Iterator[Data]:
    """A configuration that is missing, and files where folders must be."""
    openspec = service.tree.openspec
    configs = [openspec / name for name in ("config.yaml", "config.yml")]
    if not any(is_file(path) for path in configs):
        there = any(exists(path) for path in configs)
        code = "openspec_config_not_file" if there else "openspec_config_missing"
        told = "must be a file" if there else "is missing"
        yield _finding(code, "openspec.config", f"{openspec.name}/config.yaml {told}.")
    for name, folder in (
        ("specs", service.tree.specs),
        ("changes", service.tree.changes),
        ("archive", service.tree.archive),
    ):
        if exists(folder) and not is_folder(folder):
            shown = folder.relative_to(service.root.path)
            code = f"openspec_{name}_not_directory"
            yield _finding(code, f"openspec.{name}", f"{shown} must be a folder, and is a file.")


def _finding(code: str, target: str, message: str) -> Data:
    return {"severity": "error", "code": code, "message": message, "target": target}


def _warnings(service: OpenSpec) -> Iterator[Data]:
    """A configuration that cannot be read."""
    if service.tree.config.invalid is None:
        return
    yield {
        "severity": "warning",
        "code": "root_pointer_invalid",
        "message": f"The configuration cannot be read: {service.tree.config.invalid}",
        "target": "relationships",
        "fix": "Mend config.yaml; until then it counts as empty.",
    }
