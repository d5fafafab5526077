"""`openspec schema`: where schemas come from, and a project's own."""

from argparse import Namespace

from ..errors import OpenSpecError, SchemaError
from ..service import OpenSpec
from ..service.schema_files import SchemaFiles
from ..storage.schemas import SchemaPlace
from .output import CommandError, Data, complain, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Run one of which, validate, fork and init."""
    service = open_tree(implicit=True)
    verbs = {"which": _which, "validate": _validate, "fork": _fork, "init": _init}
    try:
        return verbs[options.verb](service, options)
    except OpenSpecError as error:
        return _refuse(service, options, error)


def _refuse(service: OpenSpec, options: Namespace, error: OpenSpecError) -> int:
    """Say what is wrong, in JSON as the verb would answer."""
    if not options.json:
        raise CommandError("schema_error", str(error), fix=" ".join(error.suggestions) or None)
    done = {"validate": "valid", "fork": "forked", "init": "created"}.get(options.verb)
    data: Data = {done: False} if done else {}
    data["error"] = str(error)
    if isinstance(error, SchemaError):
        data["available"] = [place.name for place in service.tree.schemas.places()]
    print_json(data)
    return 1


def _which(service: OpenSpec, options: Namespace) -> int:
    places = service.tree.schemas.places()
    if options.all or not options.item:
        shown = [_origin(place) for place in places]
        if options.json:
            print_json(shown)
        else:
            say(*(f"{one['name']}  {one['source']}  {one['path']}" for one in shown))
        return 0
    place = _origin(service.tree.schemas.place(options.item))
    if options.json:
        print_json(place)
    else:
        say(f"Schema: {place['name']}", f"Source: {place['source']}", f"Path: {place['path']}")
    return 0


def _origin(place: SchemaPlace) -> Data:
    shadows = [
        {"source": shadowed.origin, "path": str(shadowed.folder)} for shadowed in place.shadows
    ]
    return {
        "name": place.name,
        "source": place.origin,
        "path": str(place.folder),
        "shadows": shadows,
    }


def _validate(service: OpenSpec, options: Namespace) -> int:
    files = SchemaFiles(service.tree)
    reports = [files.check(name) for name in ([options.item] if options.item else files.own())]
    shown: list[Data] = [
        {
            "name": report.name,
            "path": str(report.folder),
            "valid": not report.errors,
            "issues": [
                {"level": level, "path": path, "message": message}
                for level, found in (("error", report.errors), ("warning", report.warnings))
                for path, message in found
            ],
        }
        for report in reports
    ]
    valid = all(one["valid"] for one in shown)
    if options.json and options.item:
        print_json(shown[0])
    elif options.json:
        empty = {} if shown else {"message": "No project schemas directory found"}
        print_json({"valid": valid, **empty, "schemas": shown})
    for one in () if options.json else shown:
        (say if one["valid"] else complain)(
            f"{'✓' if one['valid'] else '✗'} Schema '{one['name']}' is "
            f"{'valid' if one['valid'] else 'not valid'}",
            *(
                f"  {issue['level']}: {issue['path']}: {issue['message']}"
                for issue in one["issues"]
            ),
        )
    if not shown and not options.json:
        say("The project has no schemas of its own.")
    return 0 if valid else 1


def _fork(service: OpenSpec, options: Namespace) -> int:
    source = service.tree.schemas.place(options.item)
    name = options.name or f"{source.name}-custom"
    place = SchemaFiles(service.tree).fork(source.name, name, force=options.force)
    if options.json:
        print_json(
            {
                "forked": True,
                "source": source.name,
                "sourcePath": str(source.folder),
                "sourceLocation": source.origin,
                "destination": place.name,
                "destinationPath": str(place.folder),
            }
        )
    else:
        say(f"Copied '{source.name}' to {place.folder}. Name it in config.yaml: schema: {name}")
    return 0


def _init(service: OpenSpec, options: Namespace) -> int:
    artifacts = tuple(filter(None, (one.strip() for one in options.artifacts.split(","))))
    description = options.description or f"Workflow schema {options.item}"
    files = SchemaFiles(service.tree)
    place = files.init(options.item, artifacts, description, force=options.force)
    if options.default:
        service.set_config("schema", options.item)
    if options.json:
        print_json(
            {
                "created": True,
                "path": str(place.folder),
                "schema": place.name,
                "artifacts": list(artifacts),
                "setAsDefault": options.default,
            }
        )
    else:
        then = "It is the project's schema now." if options.default else (
            f"Name it in config.yaml: schema: {place.name}"
        )  # fmt: skip
        say(f"Made {place.folder}. {then}")
    return 0
