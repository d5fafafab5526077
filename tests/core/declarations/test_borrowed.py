"""What is borrowed of pydantic is still as it was when it was borrowed."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from mcp_host.declarations.borrowed import SchemaWriter, calls_code
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, field_validator
from pydantic.json_schema import GenerateJsonSchema


class City(BaseModel):
    name: str = "Rome"
    size: int | None = None
    near: list["City"] = []


def test_the_writer_writes_what_pydantics_own_does_but_for_titles_of_fields() -> None:
    def without_titles(schema: Any) -> Any:
        if isinstance(schema, dict):
            titled = schema.get("type") != "object" and isinstance(schema.get("title"), str)
            return {k: without_titles(v) for k, v in schema.items() if not titled or k != "title"}
        return [without_titles(item) for item in schema] if isinstance(schema, list) else schema

    usual = City.model_json_schema(schema_generator=GenerateJsonSchema)

    assert "title" in usual["$defs"]["City"]["properties"]["name"]
    assert City.model_json_schema(schema_generator=SchemaWriter) == without_titles(usual)


class Told(BaseModel):
    model_config = ConfigDict(json_schema_mode_override="serialization")
    name: str = "Rome"


@pytest.mark.parametrize("kind", [dict[str, int], list[int | None], Told, dict[str, City]])
def test_the_writer_goes_through_a_schema_only_where_it_has_definitions(kind: Any) -> None:
    for name in ("_garbage_collect_definitions", "_build_definitions_remapping", "_mode"):
        assert hasattr(GenerateJsonSchema(), name), f"pydantic's writer has no {name} any more"
    for mode in ("validation", "serialization"):
        usual = TypeAdapter(kind).json_schema(mode=mode, schema_generator=_WithoutTitles)
        assert TypeAdapter(kind).json_schema(mode=mode, schema_generator=SchemaWriter) == usual


class _WithoutTitles(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def test_the_writer_knows_every_kind_of_schema_that_pydantics_own_knows() -> None:
    usual, writer = GenerateJsonSchema(), SchemaWriter()

    assert set(writer.build_schema_type_to_method()) == set(usual.build_schema_type_to_method())
    assert all(m.__self__ is writer for m in writer.build_schema_type_to_method().values())


@pytest.mark.parametrize("default", [True, 3, "ü", None, 1.5, {"a": (1,)}, {2}])
def test_a_default_is_written_as_pydantic_writes_it(default: Any) -> None:
    assert SchemaWriter().encode_default(default) == GenerateJsonSchema().encode_default(default)


def own(value: Any) -> Any:
    return value


class Checked(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def same(cls, x: int) -> int:
        return x


class Opening(BaseModel):
    def model_post_init(self, context: Any) -> None: ...


class Custom(BaseModel):
    def __init__(self, x: int) -> None: ...


@dataclass
class Made:
    x: list[int] = field(default_factory=list)


@dataclass
class Begun:
    x: int

    def __post_init__(self) -> None: ...


@pytest.mark.parametrize("kind", [int, list[City], dict[str, City | None], tuple[int, str]])
def test_a_check_that_is_pydantics_alone_calls_no_code_of_a_pack(kind: Any) -> None:
    assert not calls_code(TypeAdapter(kind).core_schema)


@pytest.mark.parametrize(
    "kind",
    [
        *(Annotated[int, AfterValidator(own)], list[Checked], Opening, Custom, Made, Begun),
        dict[str, Annotated[list[int] | None, AfterValidator(own)]],
        Annotated[list[int], Field(default_factory=list)],
    ],
)
def test_a_check_that_calls_code_of_a_pack_is_known_as_one(kind: Any) -> None:
    assert calls_code(TypeAdapter(kind).core_schema)
