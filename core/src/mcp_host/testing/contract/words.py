"""What is said of a pack: names, descriptions, annotations, defaults and what the lists cost."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_origin

from pydantic import TypeAdapter, ValidationError

from ...declarations.arguments import DeclaredArguments
from ...declarations.contribution import Contribution
from ...declarations.tool import Tool
from ...packs.costs import costs
from ...packs.declared import Declared
from ...packs.entry import What
from ...packs.inventory import Inventory
from ...packs.tokens import counter
from .finding import ContractFinding

LONGEST_NAME = 49
"""Characters of a public name: some clients put the server's own name before it, and allow 64."""
LONGEST_DESCRIPTION = 1024
"""Characters of a tool's description: OpenAI refuses a function with a longer one."""
_SECRET = re.compile(
    r"(?i)(^|_)(password|passwd|passphrase|secret|token|api_?key|apikey|access_?key|private_?key"
    r"|credentials?)(_|$)"
)
_NO_SECRET = re.compile(
    r"(?i)(max|min|page|next|cursor|count|limit|budget|number)_?tokens?|tokens$"
)
_OF_MODULE = (
    "make the tool of a function of the module, without it; the pack's service is the first "
    "parameter, before '/'"
)
_ANNOTATED = {
    "self": _OF_MODULE,
    "cls": _OF_MODULE,
    "context": "annotate it `context: Context`, and the host fills it in",
    "ctx": "annotate it `ctx: Context`, and the host fills it in",
}
"""What to do with parameters that have no annotation and a name that says what is meant."""


def said(declared: Declared, inventory: Inventory, max_tokens: int) -> Iterator[ContractFinding]:
    """Find what clients cannot work with in the words of a pack."""
    for kind, one in contributions(declared):
        yield from _described(kind, one)
    for tool in declared.tools:
        yield from _annotated(tool)
        yield from _typed(tool)
    yield from _names(inventory, declared.name)
    yield from _settings(declared)
    yield from _cost(inventory, max_tokens)
    for problem in declared.skills.problems:
        yield ContractFinding("skills", "", problem, "correct the skill's folder")


def contributions(declared: Declared) -> Iterator[tuple[str, Contribution]]:
    """Every tool, resource and prompt of a pack, with the word for it."""
    for tool in declared.tools:
        yield "tool", tool
    for resource in declared.resources:
        yield "resource", resource
    for prompt in declared.prompts:
        yield "prompt", prompt


def _described(kind: str, one: Contribution) -> Iterator[ContractFinding]:
    if not one.description.strip():
        yield ContractFinding(
            "descriptions",
            one.name,
            f"the {kind} has no description, so a model cannot know when to use it",
            "write a docstring: what it does, in a sentence",
        )
    if len(one.description) > LONGEST_DESCRIPTION:
        yield ContractFinding(
            "descriptions",
            one.name,
            f"the description has {len(one.description)} characters; some clients refuse more than "
            f"{LONGEST_DESCRIPTION}",
            "shorten it, and let the parameters' descriptions say the rest",
        )
    if kind != "resource":  # of a template's variables, clients see the names alone
        for name, schema in one.signature.arguments.schema.get("properties", {}).items():
            yield from _parameter(one, name, schema)


def _fits_default(one: Contribution, name: str) -> bool:
    """Whether a parameter's default is a value that a caller could give."""
    arguments = one.signature.arguments
    if not isinstance(arguments, DeclaredArguments):
        return True
    parameter = arguments.parameters[name]
    if parameter.default in (parameter.empty, None):
        return True
    try:
        TypeAdapter(parameter.annotation).validate_python(parameter.default)
    except ValidationError:
        return False
    return True


def _parameter(one: Contribution, name: str, schema: Any) -> Iterator[ContractFinding]:
    about = schema if isinstance(schema, Mapping) else {}
    where = f"{one.name}({name})"
    if _has_no_type(about):
        yield ContractFinding(
            "schemas",
            where,
            f"the parameter '{name}' has no type, and some clients refuse the whole tool for it",
            _ANNOTATED.get(name, f"annotate it, such as `{name}: str`"),
        )
    if not _fits_default(one, name):
        yield ContractFinding(
            "schemas",
            where,
            f"the default of '{name}' is not of the kind that its annotation says",
            "give a default that fits, or correct the annotation",
        )
    if not str(about.get("description", "")).strip():
        yield ContractFinding(
            "descriptions",
            where,
            f"the parameter '{name}' has no description",
            f'say what it is: {name}: Annotated[{_kind(one, name)}, Field(description="…")]',
        )
    if _is_secret(name):
        default = about.get("default")
        if isinstance(default, str) and default:
            yield ContractFinding(
                "secrets",
                where,
                f"the default of '{name}' looks like a secret, and every client is shown it",
                "take the default away; a secret is a setting of type SecretStr, read with "
                "{ env = … }",
            )
        elif not isinstance(about.get("default"), int | float | bool):
            yield ContractFinding(
                "secrets",
                where,
                f"'{name}' asks a model for a secret",
                "make it a setting of the pack, of type SecretStr",
                "advice",
            )


def _kind(one: Contribution, name: str) -> str:
    """A parameter's annotation as its author wrote it, or nearly so."""
    arguments = one.signature.arguments
    if not isinstance(arguments, DeclaredArguments):
        return "str"
    annotation = arguments.parameters[name].annotation
    if get_origin(annotation) is Annotated:
        annotation = annotation.__origin__
    if annotation in (Any, inspect.Parameter.empty):
        return "str"
    home = getattr(annotation, "__module__", None)
    return inspect.formatannotation(annotation, home).replace("typing.", "")


def _has_no_type(schema: Mapping[str, Any]) -> bool:
    says = {"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"}
    return not says & schema.keys()


def _annotated(tool: Tool) -> Iterator[ContractFinding]:
    if not tool.read_only and tool.destructive is None:
        yield ContractFinding(
            "annotations",
            tool.name,
            "nothing says whether the tool changes anything, so clients take it for destructive",
            "@tool(read_only=True) if it only reads, else @tool(destructive=…): True where it "
            "overwrites or deletes, False where it only adds",
        )
    if tool.open_world is None:
        yield ContractFinding(
            "annotations",
            tool.name,
            "nothing says whether the tool reaches beyond the pack's own data",
            "@tool(open_world=True) if it talks to the network or the like, else open_world=False",
            "advice",
        )
    if tool.read_only and tool.destructive:
        yield ContractFinding(
            "annotations",
            tool.name,
            "a tool cannot be both read_only and destructive",
            "leave out the one that is not so",
        )


def _typed(tool: Tool) -> Iterator[ContractFinding]:
    """What the function says of its result."""
    hints = getattr(tool.function, "__annotations__", {})
    if "return" not in hints:
        yield ContractFinding(
            "schemas",
            tool.name,
            "nothing says what the tool returns, so there is no output schema",
            "annotate the return value, such as `-> str`, or a model or TypedDict of yours",
        )
        return
    output = tool.signature.output
    schema = output.schema if output is not None else None
    if tool.output == "full" and schema is not None and _is_open(schema):
        yield ContractFinding(
            "schemas",
            tool.name,
            "the output schema is any object: what has no JSON form fails only when it is called",
            "return a model or a TypedDict, or name the type of the values: `dict[str, int]`",
            "advice",
        )


def _is_open(schema: Mapping[str, Any]) -> bool:
    within = schema.get("additionalProperties", True)
    return schema.get("type") == "object" and not schema.get("properties") and within in (True, {})


def _names(inventory: Inventory, pack: str) -> Iterator[ContractFinding]:
    kinds: tuple[What, ...] = ("tools", "prompts")
    for what in kinds:
        for entry in inventory.lists.entries(what):
            name = str(entry.listed["name"])
            if entry.pack == pack and len(name) > LONGEST_NAME:
                yield ContractFinding(
                    "names",
                    name,
                    f"the name has {len(name)} characters with its prefix; over {LONGEST_NAME} "
                    "some clients cut it off or refuse it",
                    "shorten the name",
                )


def _settings(declared: Declared) -> Iterator[ContractFinding]:
    model = declared.settings_model
    for name, info in getattr(model, "model_fields", {}).items():
        if not info.description:
            yield ContractFinding(
                "descriptions",
                f"settings.{name}",
                f"the setting '{name}' has no description",
                f'{name}: … = Field(…, description="…")',
            )
        default = info.get_default(call_default_factory=False)
        text = default.get_secret_value() if hasattr(default, "get_secret_value") else default
        if _is_secret(name) and isinstance(text, str) and text:
            yield ContractFinding(
                "secrets",
                f"settings.{name}",
                f"the default of '{name}' looks like a secret, and it stands in the pack's source",
                "make the default None, and say in mcp_host_open that it is missing",
            )
        elif _is_secret(name) and info.annotation in (str, str | None):
            yield ContractFinding(
                "secrets",
                f"settings.{name}",
                f"'{name}' is a plain string, which a log or a traceback shows",
                "make it a SecretStr",
                "advice",
            )


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def _cost(inventory: Inventory, most: int) -> Iterator[ContractFinding]:
    tokens = counter()
    tools = [cost for cost in costs(inventory, tokens) if cost.kind == "tools"]
    spent = sum(cost.tokens for cost in tools)
    if spent > most:
        dearest = max(tools, key=lambda cost: cost.tokens)
        yield ContractFinding(
            "tokens",
            "",
            f"the list of tools costs a model {spent:,} tokens ({tokens.by}), over {most:,}",
            f"shorten descriptions, beginning with {dearest.name} ({dearest.tokens:,}), or offer "
            "fewer tools",
        )
