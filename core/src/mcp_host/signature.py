"""A function's signature as the host reads it.

It gives the input and output schema, checks arguments, and tells which parameters the host fills.
Annotations before `/` are never evaluated: they name the pack's service, whose import may be dear.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from string import Formatter
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypeAliasType

from . import schemas
from .asking import Answer, Form, Question
from .content import CONTENT_TYPES, Message, Page, Result, compact
from .context import Context
from .errors import InvalidInput
from .records import Record
from .schemas import Marker, Schema


class DeclarationError(Exception):
    """A pack declares something that cannot work; the message says where and what is right."""


class Ask(Record):
    """`sure: Annotated[bool, Ask("Delete {ids}?")]`: the host asks before the body runs.

    `question` is a text with the call's arguments in braces, a `Form`, `Sample` or `Roots`, or a
    function of arguments and earlier answers (by their names) that gives one of these, or the
    value itself when nothing need be asked.
    """

    question: str | Question | Callable[..., Any]


class Complete(Marker):
    """`city: Annotated[str, Complete(cities)]`: proposals while a person types.

    `propose(value)` returns strings; it may also take `arguments` (what is filled in already), and
    the pack's service before `/`.
    """

    propose: Callable[..., Any]


class Header(Marker):
    """`region: Annotated[str, Header("Region")]`: clients repeat it as `Mcp-Param-Region`.

    Only for parameters that are a string, an integer or a boolean (MCP 2026-07-28).
    """

    name: str

    def _in_schema(self) -> Schema:
        return {"x-mcp-header": self.name}


class Asked(Record):
    """One parameter that the host fills by asking."""

    ask: Ask
    accepts: Any
    on_refusal: typing.Literal["stop", "none", "tell"]

    @cached_property
    def needs(self) -> frozenset[str]:
        """The names of the arguments and earlier answers that the question is made of."""
        question = self.ask.question
        if isinstance(question, str):
            fields = (field for _, field, _, _ in Formatter().parse(question) if field)
            return frozenset(re.split(r"[.\[]", field)[0] for field in fields)
        if isinstance(question, Question):
            return frozenset()
        parameters = inspect.signature(question).parameters.values()
        return frozenset(p.name for p in parameters if p.default is p.empty)

    def value(self, answer: Any) -> Any:
        """What the parameter gets: the whole answer, or the value, with None for a refusal."""
        if not isinstance(answer, Answer) or self.on_refusal == "tell":
            return answer
        return answer.value if self.on_refusal == "none" else answer.or_stop()


class _Compact(GenerateJsonSchema):
    """JSON Schema without generated titles: "City" as title of `city` tells a model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def build_schema_type_to_method(self) -> Any:
        # pydantic looks these up anew for every schema, which is a tenth of reading a tool.
        return {kind: getattr(self, name) for kind, name in _schema_methods().items()}


@cache
def _schema_methods() -> Mapping[Any, str]:
    """Which method of pydantic's generator writes which kind of schema."""
    methods = GenerateJsonSchema().build_schema_type_to_method()
    return {kind: method.__name__ for kind, method in methods.items()}


class Signature(Record):
    """What the host knows of one function; made by `read`.

    `arguments` are the annotation and the default, or `UNSET`, of each parameter that a caller may
    give; `written` is their schema, where it needed no model. Then what checks them, and what is
    returned, is made for the first call. Two calls at once may each make their own: they are alike.
    """

    function: Callable[..., Any]
    service: str | None
    context: str | None
    questions: Mapping[str, Asked]
    proposals: Mapping[str, Callable[..., Any]]
    arguments: Mapping[str, tuple[Any, Any]]
    written: Schema | None
    own_schema: Schema | None
    takes_all: str | None
    returns: Any

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def model(self) -> type[BaseModel]:
        """What checks arguments; `DeclarationError` where a parameter has no JSON form."""
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
        fields = {key: _field(name, *self.arguments[name]) for key, name in self._fields.items()}
        try:
            return create_model("Arguments", __config__=config, **fields)
        except Exception as error:
            raise DeclarationError(
                f"{_where(self.function)}: a parameter has no JSON form: {error}"
            ) from error

    @cached_property
    def _fields(self) -> Mapping[str, str]:
        """The parameters by the model's names for them: any parameter's name is legal there."""
        return {f"p{index}": name for index, name in enumerate(self.arguments)}

    @cached_property
    def runs_code(self) -> bool:
        """Whether checking arguments calls functions of the pack, which may do anything."""
        return self.own_schema is None and _runs_code(self.model.__pydantic_core_schema__)

    @cached_property
    def parameters(self) -> list[str]:
        """The names of the arguments a caller may give."""
        if self.own_schema is not None:
            return list(self.own_schema.get("properties", {}))
        return list(self.arguments)

    @cached_property
    def input_schema(self) -> Schema:
        if self.own_schema is not None:
            return self.own_schema
        if self.written is not None:
            return self.written
        return _shortened(self.model.model_json_schema(schema_generator=_Compact))

    @cached_property
    def output(self) -> Output | None:
        """What is said of a returned value; None where it is content or a text."""
        return _output(self.returns)

    @cached_property
    def _nullable(self) -> frozenset[str]:
        return frozenset(name for name, (hint, _) in self.arguments.items() if _allows_none(hint))

    @cached_property
    def _optional(self) -> frozenset[str]:
        required = self.input_schema.get("required", ())
        return frozenset(name for name in self.parameters if name not in required)

    @cached_property
    def _structured(self) -> frozenset[str]:
        """Parameters where only an array or an object fits, so that a string must be JSON text."""
        schema = self.input_schema
        return frozenset(
            name
            for name, prop in schema.get("properties", {}).items()
            if isinstance(prop, dict) and _types(prop, schema) <= {"array", "object"}
        )

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them; `InvalidInput` says what is wrong."""
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in self._optional or name in self._nullable
        }
        for name in self._structured.intersection(given):
            given[name] = _parsed_once(given[name])
        if self.own_schema is not None:
            _check_own_schema(self.own_schema, given)
            return {self.takes_all: given} if self.takes_all else {}
        try:
            checked = self._checked(given)
        except ValidationError as error:
            raise explain(error, self.input_schema) from None
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"Invalid arguments: not valid JSON ({error})") from None
        return {name: getattr(checked, key) for key, name in self._fields.items()}

    def _checked(self, given: Mapping[str, Any]) -> Any:
        text = compact(given)
        try:
            return self._validate(text)
        except ValidationError:
            # To JSON Schema, 1.0 is an integer; seldom sent, so looked for only now.
            whole = compact(_whole_numbers(given))
            if whole == text:
                raise
            return self._validate(whole)

    def check_texts(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As `check`, for values that arrive as text (of a URI, or a prompt's arguments)."""
        try:
            checked = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise explain(error, self.input_schema) from None
        return {name: getattr(checked, key) for key, name in self._fields.items()}

    @cached_property
    def _validate(self) -> Callable[[str], Any]:
        validator = self.model.__pydantic_validator__

        def validate(text: str) -> Any:
            # JSON mode: strict, and yet dates, enums and UUIDs are taken from their strings.
            # Under the published names alone, whatever else a model would take.
            return validator.validate_json(
                text, strict=True, extra="forbid", by_alias=True, by_name=False
            )

        return validate


def _field(name: str, hint: Any, default: Any) -> Any:
    annotated = Annotated[hint, Field(alias=name)]  # which may have a default of its own
    return annotated if default is schemas.UNSET else (annotated, default)


class Output(Record):
    """A type that is returned: its schema, and whether a value goes under `result`.

    `made` is what checks values, where it was needed for the schema.
    """

    kind: Any
    schema: Schema
    under_result: bool
    made: TypeAdapter[Any] | None = None

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """What checks values."""
        return self.made or TypeAdapter(self.kind)


def _runs_code(schema: Any) -> bool:
    if isinstance(schema, list | tuple):
        return any(_runs_code(part) for part in schema)
    if not isinstance(schema, dict):
        return False
    called = schema.get("function")
    function = called.get("function") if isinstance(called, dict) else called
    own = function is not None and not _is_pydantics(function)
    hooks = any(schema.get(key) for key in ("default_factory", "custom_init", "post_init"))
    return own or hooks or any(_runs_code(part) for part in schema.values())


def _is_pydantics(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] in (
        "pydantic",
        "pydantic_core",
    )


def read(function: Callable[..., Any], input_schema: Schema | None = None) -> Signature:
    """Read a function's signature; `DeclarationError` where it cannot serve as a contribution."""
    parameters = inspect.signature(function).parameters
    service = _service(function, parameters)
    hints = _hints(function, [name for name in parameters if name != service])
    reading = _Reading(function, input_schema)
    for name, parameter in parameters.items():
        if name != service:
            reading.add(name, hints.get(name, Any), parameter)
    reading.check_questions()
    written = schemas.of_arguments(reading.arguments)
    made = Signature(
        function=function,
        service=service,
        context=reading.context,
        questions=reading.questions,
        proposals=reading.proposals,
        arguments=reading.arguments,
        written=written and _shortened(written),
        own_schema=input_schema,
        takes_all=reading.takes_all,
        returns=hints.get("return"),
    )
    if written is None:
        _ = made.model  # which finds what cannot be checked; an ordinary argument always can
    return made


class _Reading:
    """Sorts a function's parameters into what a caller gives and what the host fills in."""

    def __init__(self, function: Callable[..., Any], input_schema: Schema | None) -> None:
        self.function, self.input_schema = function, input_schema
        self.context: str | None = None
        self.takes_all: str | None = None
        self.questions: dict[str, Asked] = {}
        self.proposals: dict[str, Callable[..., Any]] = {}
        self.arguments: dict[str, tuple[Any, Any]] = {}

    def add(self, name: str, hint: Any, parameter: inspect.Parameter) -> None:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DeclarationError(
                f"{_where(self.function)}: *{name} has no place in a schema; name the parameters"
            )
        markers = hint.__metadata__ if get_origin(hint) is Annotated else ()
        ask = next((marker for marker in markers if isinstance(marker, Ask)), None)
        if hint is Context:
            self.context = name
        elif ask is not None:
            self.questions[name] = _question(self.function, name, hint.__origin__, ask)
        elif self.input_schema is not None:
            self.takes_all = name
        else:
            self._argument(name, hint, markers, parameter)

    def check_questions(self) -> None:
        """`DeclarationError` where a question can never be put."""
        known = {*self.arguments, *self.questions, self.takes_all}
        for name, asked in self.questions.items():
            for odd in sorted(asked.needs - known):
                raise DeclarationError(
                    f"{_where(self.function)}: the question for '{name}' is made of '{odd}', which "
                    "is no parameter that a caller gives or answers"
                )
        waiting = dict(self.questions)
        while waiting:
            ready = [name for name in waiting if not waiting[name].needs & waiting.keys()]
            if not ready:
                raise DeclarationError(
                    f"{_where(self.function)}: the questions for {', '.join(waiting)} wait for "
                    "each other"
                )
            for name in ready:
                del waiting[name]

    def _argument(
        self, name: str, hint: Any, markers: tuple[Any, ...], parameter: inspect.Parameter
    ) -> None:
        for marker in markers:
            if isinstance(marker, Complete):
                self.proposals[name] = marker.propose
            elif isinstance(marker, Header) and not _header_fits(hint):
                raise DeclarationError(
                    f"{_where(self.function)}: Header('{marker.name}') on '{name}' needs a plain "
                    "str, int or bool"
                )
        has_default = parameter.default is not parameter.empty
        self.arguments[name] = (hint, parameter.default if has_default else schemas.UNSET)


def _where(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _service(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
) -> str | None:
    before = [n for n, p in parameters.items() if p.kind is inspect.Parameter.POSITIONAL_ONLY]
    if len(before) > 1:
        raise DeclarationError(
            f"{_where(function)}: only the service stands before '/', not also {before[1]}"
        )
    return before[0] if before else None


def _hints(function: Callable[..., Any], names: list[str]) -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib

        raw = annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
    else:
        raw = function.__annotations__
    wanted = {name: raw[name] for name in [*names, "return"] if name in raw}
    holder = types.SimpleNamespace(__annotations__=wanted)
    own_types = {kind.__name__: kind for kind in getattr(function, "__type_params__", ())}
    try:
        hints = typing.get_type_hints(
            holder, inspect.unwrap(function).__globals__, own_types, include_extras=True
        )
        return {name: _unnamed(hint) for name, hint in hints.items()}
    except NameError as error:
        raise DeclarationError(
            f"{_where(function)}: {error}; names in annotations after '/' are needed at run time"
        ) from error


# The one of typing, since Python 3.12, and that of typing_extensions may be two classes.
_NAMES = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))


def _unnamed(hint: Any) -> Any:
    """What an annotation stands for that a `type` statement gave a name to."""
    if isinstance(hint, _NAMES):
        return _unnamed(hint.__value__)
    if get_origin(hint) is Annotated and isinstance(hint.__origin__, _NAMES):
        return Annotated[_unnamed(hint.__origin__), *hint.__metadata__]
    return hint


def _question(function: Callable[..., Any], name: str, shape: Any, ask: Ask) -> Asked:
    accepts, on_refusal = _refusal(shape)
    question = ask.question
    if isinstance(question, str):
        try:
            Form(question, accepts, name)
        except TypeError as error:
            raise DeclarationError(f"{_where(function)}: '{name}': {error}") from error
    return Asked(ask, accepts, on_refusal)


def _refusal(shape: Any) -> tuple[Any, typing.Literal["stop", "none", "tell"]]:
    if get_origin(shape) is Answer:
        return get_args(shape)[0], "tell"
    if _allows_none(shape):
        return next(arm for arm in get_args(shape) if arm is not type(None)), "none"
    return shape, "stop"


def _allows_none(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _allows_none(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return any(_allows_none(arm) for arm in get_args(hint))
    return hint is None or hint is type(None) or hint is Any


def _header_fits(hint: Any) -> bool:
    return get_args(hint)[0] in (str, int, bool)


# -- schemas ---------------------------------------------------------------------------------------


def _shortened(schema: Schema) -> Schema:
    """pydantic's schema of arguments in fewer words."""
    schema.setdefault("properties", {})
    shorter: Schema = _mapped(_untitled(schema), _shorter)
    return shorter


def _untitled(schema: Schema) -> Schema:
    """Drop the titles that pydantic makes of class names."""
    for named in (schema, *schema.get("$defs", {}).values()):
        named.pop("title", None)
    return schema


_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs")
_DATA = ("enum", "const", "default", "examples")


def _mapped(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with a change made to it and to every schema inside.

    What stands in `properties` are names: a parameter may well be called `anyOf` or `default`.
    """
    if isinstance(schema, list):
        return [_mapped(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    mapped: Schema = {}
    for key, value in schema.items():
        if key in _SCHEMAS_BY_NAME:
            mapped[key] = {name: _mapped(sub, change) for name, sub in value.items()}
        else:
            is_plain = key in _DATA or isinstance(value, str)
            mapped[key] = value if is_plain else _mapped(value, change)
    return change(mapped)


def _shorter(schema: Schema) -> Schema:
    return _closed(_without_nulls(schema))


def _without_nulls(schema: Schema) -> Schema:
    """Drop null arms and a null default: absent says the same in fewer tokens."""
    schema = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    arms = schema.get("anyOf")
    if arms is None:
        return schema
    left = [arm for arm in arms if arm != {"type": "null"}]
    if len(left) != 1:
        return {**schema, "anyOf": left}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**left[0], **rest}


def _closed(schema: Schema) -> Schema:
    """Say that unknown properties are errors."""
    if "properties" in schema and schema.get("type") == "object":
        return {**schema, "additionalProperties": False}
    return schema


def _open(schema: Schema) -> Schema:
    """An output schema without a title that allows what a later version may add."""
    return {
        key: value
        for key, value in schema.items()
        if key != "title" and not (key == "additionalProperties" and value is False)
    }


def _types(schema: Schema, whole: Schema) -> set[str]:
    types: set[str] = set()
    for arm in _schema_arms(schema, whole):
        kind = arm.get("type", "any")
        types |= set(kind) if isinstance(kind, list) else {kind}
    return types


def _is_content(hint: Any) -> bool:
    kinds = (*CONTENT_TYPES, Message, Result)
    return hint in kinds or any(_is_content(arm) for arm in get_args(hint))


def _output(hint: Any) -> Output | None:
    try:
        return _known_output(hint)
    except TypeError:  # what stands in an annotation need not be hashable
        return _read_output(hint)


@lru_cache(maxsize=512, typed=True)
def _known_output(hint: Any) -> Output | None:
    """As `_read_output`; the tools of a pack return the same few types."""
    return _read_output(hint)


def _read_output(hint: Any) -> Output | None:
    if hint in (None, type(None), str, bytes, Any) or _is_content(hint):
        return None
    is_page = get_origin(hint) is Page
    kind: Any = hint
    if is_page:
        item: Any = get_args(hint)[0]
        kind = list[item]
    schema = schemas.of_output(kind)
    adapter = None
    if schema is None:
        adapter = TypeAdapter(kind)
        schema = adapter.json_schema(mode="serialization", schema_generator=_Compact)
    schema = _mapped(schema, _open)
    schema.pop("description", None)
    if schema.get("type") == "object":
        return Output(kind, schema, False, adapter)
    schema = _under_result(schema)
    return Output(kind, _page_schema(schema) if is_page else schema, True, adapter)


def _page_schema(schema: Schema) -> Schema:
    rest = {
        "total": {"type": "integer"},
        "truncated": {"type": "boolean"},
        "next_cursor": {"type": ["string", "null"]},
    }
    properties = {**rest, **schema["properties"]}
    return {**schema, "properties": properties, "required": list(properties)}


def _under_result(schema: Schema) -> Schema:
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
        **definitions,
    }


# -- checking --------------------------------------------------------------------------------------


def _parsed_once(value: Any) -> Any:
    """A string where only an array or an object fits, as a widely used client sends them."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list | dict) else value


def _whole_numbers(value: Any) -> Any:
    """The data with 1 for every 1.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return value


def explain(error: ValidationError, schema: Schema) -> InvalidInput:
    """pydantic's findings in our words, with the nearest known name for each unknown one."""
    problems: list[dict[str, str]] = []
    suggestions: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        where = ".".join(str(part) for part in item["loc"])
        problem = _PROBLEMS.get(item["type"], item["msg"].removeprefix("Value error, "))
        if item["type"] == "extra_forbidden":
            known = _known_at([schema], item["loc"][:-1], schema)
            problem, near = _unknown(str(item["loc"][-1]), known)
            suggestions += near
        problems.append({"argument": where, "problem": problem})
    shown = "; ".join(
        f"{p['argument']}: {p['problem']}" if p["argument"] else p["problem"] for p in problems[:5]
    )
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    return InvalidInput(
        f"Invalid arguments: {shown}{more}",
        suggestions=suggestions,
        details={"reason": "invalid_arguments", "arguments": problems[:50]},
    )


_PROBLEMS = {
    "missing": "is required",
    "string_unicode": "is not valid Unicode text (a lone surrogate)",
    "json_invalid": "is not valid JSON",
}


def _known_at(here: list[Schema], keys: tuple[int | str, ...], whole: Schema) -> list[str]:
    """The names of the properties at a place inside the schema."""
    arms = [arm for schema in here for arm in _schema_arms(schema, whole)]
    if not keys:
        return list(dict.fromkeys(name for arm in arms for name in arm.get("properties", ())))
    inside = []
    for arm in arms:
        found = arm.get("properties", {}).get(keys[0], arm.get("additionalProperties"))
        if isinstance(keys[0], int):
            found = arm.get("items")
        if isinstance(found, dict):
            inside.append(found)
    # A key that leads nowhere is pydantic's name for the arm of a union.
    return _known_at(inside or arms, keys[1:], whole)


def _schema_arms(schema: Schema, whole: Schema) -> list[Schema]:
    """What a schema may be, its references and unions followed."""
    if "$ref" in schema:
        return _schema_arms(_target(schema["$ref"], whole), whole)
    for arms in ("anyOf", "oneOf"):
        if arms in schema:
            return [found for arm in schema[arms] for found in _schema_arms(arm, whole)]
    return [schema]


def _target(reference: str, whole: Schema) -> Schema:
    target: Schema = whole
    for part in reference.removeprefix("#/").split("/"):
        target = target.get(part, {})
    return target


def _unknown(name: str, known: list[str]) -> tuple[str, list[str]]:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return "is not a known argument", [f"Did you mean '{near[0]}' instead of '{name}'?"]
    if known:
        return f"is not a known argument; known are {', '.join(known)}", []
    return "is not a known argument", []


def _check_own_schema(schema: Schema, arguments: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator  # only tools that bring their own schema pay for it

    problems = [
        {
            "argument": ".".join(str(part) for part in error.absolute_path),
            "problem": _schema_problem(error),
        }
        for error in Draft202012Validator(schema).iter_errors(dict(arguments))
    ]
    if problems:
        shown = "; ".join(f"{p['argument'] or 'arguments'}: {p['problem']}" for p in problems[:5])
        raise InvalidInput(
            f"Invalid arguments: {shown}",
            details={"reason": "invalid_arguments", "arguments": problems[:50]},
        )


def _schema_problem(error: Any) -> str:
    if error.validator == "enum":
        return "must be one of " + ", ".join(json.dumps(value) for value in error.validator_value)
    if error.validator == "required":
        return "needs " + ", ".join(n for n in error.validator_value if n not in error.instance)
    if error.validator == "additionalProperties":
        return "has an argument that is not known"
    if error.validator == "type":
        return f"must be of type {error.validator_value}"
    return f"does not satisfy '{error.validator}'"
