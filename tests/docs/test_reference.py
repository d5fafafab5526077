"""The reference is complete: what the code has and the pages lack fails here."""

import argparse
import ast
import dataclasses
import inspect
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import mcp_host
import mcp_host.testing
import pytest
import typer.main
from docs_pages import DOCS, ROOT, sections
from mcp_host import Standalone, hookspecs
from mcp_host.cli.app import app
from mcp_host.cli.serve import parser as serve_parser
from mcp_host.declarations.demo import DemoModule
from mcp_host.errors import BY_CODE
from mcp_host.packs.conditions import State
from mcp_host.packs.hooks import HOOKS
from mcp_host.serving.transports import TRANSPORTS
from mcp_host.startup.options import CHOICES

REFERENCE = DOCS / "reference"
CORE = ROOT / "core" / "src" / "mcp_host"


def of(page: str, level: int = 2) -> dict[str, str]:
    return sections(REFERENCE / page, level)


def sources() -> Iterator[ast.AST]:
    """Every node of the core's source."""
    for file in CORE.rglob("*.py"):
        yield from ast.walk(ast.parse(file.read_text("utf-8")))


def text(node: Any) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_section_that_tells_of_its_arguments_and_since_when(hook: str) -> None:
    section = of("hooks.md")[hook]
    function = getattr(hookspecs, hook)
    since = re.search(r"Since ([\d.]+\d)", inspect.getdoc(function) or "")

    assert since
    assert f"Since {since[1]}" in section
    assert all(f"`{name}`" in section for name in inspect.signature(function).parameters)


def public(value: Any) -> set[str]:
    """What a pack may use of a class: its methods, properties and fields."""
    if not inspect.isclass(value):
        return set()
    names = set(getattr(value, "__dataclass_fields__", ()))
    names |= {name for name in vars(value) if callable(getattr(value, name))}
    names |= {name for name, item in vars(value).items() if isinstance(item, property)}
    return {name for name in names if not name.startswith("_")}


INSIDE = {"channel",
    # what the host itself calls on these
    "wire", "contents", "read", "capability", "rest", "listed", "answer", "written", "match",
    "signature", "is_template", "template", "verify", "is_repeatable", "key_of",
    "idempotent_needs", "knows_calls", "offered_name", "begin",
    "has_begun", "also_tell", "redirect", "cancel", "envelope", "function", "functions", "code",
}  # fmt: skip


@pytest.mark.parametrize("name", mcp_host.__all__)
def test_every_exported_name_has_a_section_that_tells_of_all_it_offers(name: str) -> None:
    told = of("public-api.md", 3)
    section = next(body for heading, body in told.items() if name in heading.split(", "))
    untold = {n for n in public(getattr(mcp_host, name)) - INSIDE if f"`{n}" not in section}

    assert not untold


@pytest.mark.parametrize("name", mcp_host.testing.__all__)
def test_every_name_of_the_testing_kit_has_a_section_that_tells_of_all_it_offers(name: str) -> None:
    section = of("testing.md")[name]
    untold = {n for n in public(getattr(mcp_host.testing, name)) if f"`{n}" not in section}

    assert not untold


CALL = re.compile(r"`(?:await |async with )?(?:pack\.)?(\w+)(\([^`…]*\))(?: as \w+)?`")


def shown(section: str) -> dict[str, str]:
    """The signatures in a section, by name, as Python would write them."""
    return {name: written(parameters) for name, parameters in CALL.findall(section)}


def written(parameters: str) -> str:
    return ast.unparse(ast.parse(f"def f{parameters}: ...")).partition("f(")[2].rpartition(")")[0]


class Named(str):
    """A constant that is told by its name."""

    __repr__ = str.__str__


def in_the_code(function: Any) -> str:
    """A signature without annotations; `/` is left out, for a reference to read more easily."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if repr(parameter.default) == "<factory>":
            factory = function.__dataclass_fields__[parameter.name].default_factory
            parameter = parameter.replace(default=factory())
        if isinstance(parameter.default, signal.Signals):
            parameter = parameter.replace(default=Named(parameter.default.name))
        if parameter.kind is parameter.POSITIONAL_ONLY:
            parameter = parameter.replace(kind=parameter.POSITIONAL_OR_KEYWORD)
        parameters.append(parameter.replace(annotation=parameter.empty))
    return written(str(inspect.Signature(parameters)))


MADE_BY_THE_HOST = {
    "LiveFeed",
    "PackSkill",
    "Method",
    "Answer",
    "CompletedProgram",
    "Context",
    "PackHandle",
    "Demo",
    "Program",
    "ThreadBorder",
}
MADE_BY_ITS_AUTHOR = {"Bus"}
"""A protocol: whoever writes a class of that shape makes its objects."""
MADE_BY_THE_KIT = {
    "ContractFinding",
    "EnvironmentReads",
    "Hosted",
    "CallFailed",
    "StdioClient",
    "HttpServer",
}
IN_A_TABLE = {"Tool", "Resource", "Prompt", "tool", "resource", "prompt", "Standalone", "Person"}
PAGES = {("public-api.md", 3): mcp_host, ("testing.md", 2): mcp_host.testing}


def callables() -> Iterator[tuple[str, str, Any]]:
    """What can be called of all that is exported: its section, its name, and itself."""
    for (page, level), module in PAGES.items():
        for heading in of(page, level):
            for name in set(heading.split(", ")) & set(module.__all__):
                thing = getattr(module, name)
                if not callable(thing):
                    continue
                if not inspect.isclass(thing) or "__init__" in vars(thing):
                    yield heading, name, thing
                fields = set(getattr(thing, "__dataclass_fields__", ()))
                for member in set(dir(thing) if inspect.isclass(thing) else ()) - fields:
                    method = inspect.getattr_static(thing, member)
                    if inspect.isfunction(method) and not member.startswith("_"):
                        yield heading, member, method
    yield "Demo", "prepare", DemoModule.prepare


def told_signatures() -> set[tuple[str, str, str]]:
    return {
        (heading, name, signature)
        for page, level in PAGES
        for heading, section in of(page, level).items()
        for name, signature in shown(section).items()
    }


def test_every_signature_that_is_told_is_that_of_the_code() -> None:
    held = {(heading, name): thing for heading, name, thing in callables()}
    told = told_signatures()

    assert {(heading, name) for heading, name, _ in told} - held.keys() == set()
    assert told == {(heading, name, in_the_code(held[heading, name])) for heading, name, _ in told}


def test_the_signature_of_everything_that_a_pack_or_its_test_calls_is_told() -> None:
    others = MADE_BY_THE_HOST | MADE_BY_THE_KIT | MADE_BY_ITS_AUTHOR | IN_A_TABLE | INSIDE
    others |= {"hookimpl"}
    needed = {(heading, name) for heading, name, _ in callables() if name not in others}

    assert needed - {(heading, name) for heading, name, _ in told_signatures()} == set()


@pytest.mark.parametrize("decorator", ["tool", "resource", "prompt", "hosted", "stdio_client"])
def test_every_option_of_a_decorator_or_a_client_is_told(decorator: str) -> None:
    kit = decorator in mcp_host.testing.__all__
    made = getattr(mcp_host.testing if kit else mcp_host, decorator)
    page = of("testing.md") if kit else of("public-api.md", 3)
    kind = getattr(mcp_host, decorator.capitalize(), None)
    names = (
        {field.name for field in dataclasses.fields(kind)} - {"function"}
        if kind
        else set(inspect.signature(made).parameters)
    )
    section = next(body for heading, body in page.items() if decorator in heading.split(", "))

    assert not {name for name in names if f"`{name}" not in section}


@pytest.mark.parametrize("code", BY_CODE)
def test_every_error_code_has_a_section_that_names_its_exception(code: str) -> None:
    assert f"`{BY_CODE[code].__name__}`" in of("errors.md")[code]


def test_no_error_code_is_told_that_does_not_exist() -> None:
    coded = {name for name in of("errors.md") if re.fullmatch(r"[a-z]+_?[a-z]+", name)}

    assert coded == set(BY_CODE)


def test_every_reason_that_the_host_gives_is_told() -> None:
    reasons = {
        text(value)
        for node in sources()
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if text(key) == "reason" and re.fullmatch("[a-z_]+", text(value) or "")
    }
    page = (REFERENCE / "errors.md").read_text("utf-8")

    assert "missing_scope" in reasons
    assert not {reason for reason in reasons if f"`{reason}`" not in page}


def condition_codes() -> set[str]:
    """The codes that the source gives to conditions and failures."""
    codes = set()
    for node in sources():
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        position = {"LoadError": 0, "Condition": 1, "_fail": 0}.get(name)
        if position is not None and len(node.args) > position:
            codes.add(text(node.args[position]))
    return {code for code in codes if code}


def test_every_state_and_code_of_a_pack_is_told() -> None:
    page = (REFERENCE / "states.md").read_text("utf-8")
    codes = condition_codes()

    assert {"import_failed", "open_timeout", "calls_abandoned"} <= codes
    assert not {code for code in codes | set(get_args(State)) if f"`{code}`" not in page}


def commands() -> dict[str, set[str]]:
    """Every command and the options and arguments that it takes."""
    found: dict[str, set[str]] = {}

    def walk(name: str, command: Any) -> None:
        for inner, sub in getattr(command, "commands", {}).items():
            walk(f"{name} {inner}".strip(), sub)
        if name and not hasattr(command, "commands"):
            found[name] = {opt for p in command.params for opt in shown(p)}

    def shown(parameter: Any) -> list[str]:
        if parameter.param_type_name == "argument":
            return [parameter.name.upper()]
        return [option for option in parameter.opts if option != "--help"]

    walk("", typer.main.get_command(app))
    found["serve"] = options(serve_parser())
    return found


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {
        option
        for action in parser._actions
        for option in action.option_strings
        if option not in ("-h", "--help")
    }


def test_every_command_has_a_section_that_tells_of_all_its_options() -> None:
    told = of("commands.md")
    untold = {
        command: {opt for opt in takes if f"`{opt}" not in told.get(f"mcp-host {command}", "")}
        for command, takes in commands().items()
    }

    assert not {command: missing for command, missing in untold.items() if missing}
    assert not set(commands()) - {name.removeprefix("mcp-host ") for name in told}


def test_every_option_of_a_stand_alone_server_is_told() -> None:
    server = Standalone("x", "x", server_name="x", version="0", program="x")
    section = of("commands.md")["A pack alone"]

    assert not {opt for opt in options(server.parser()) if f"`{opt}" not in section}


def test_every_transport_can_be_chosen_and_is_told() -> None:
    told = r"\|".join(TRANSPORTS)

    assert tuple(TRANSPORTS) == CHOICES["--transport"]
    assert f"| `--transport {told}` |" in (REFERENCE / "commands.md").read_text()


def test_the_reference_has_no_section_for_a_command_that_does_not_exist() -> None:
    told = {name.removeprefix("mcp-host ") for name in of("commands.md") if "mcp-host " in name}

    assert told <= set(commands())


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: Path(page).stem)
def test_a_page_of_the_reference_begins_with_what_it_is_about(page: Path) -> None:
    first, blank, prose, *_ = page.read_text("utf-8").splitlines()

    assert first.startswith("# ")
    assert not blank
    assert prose and not prose.startswith(("#", "|", "```"))
