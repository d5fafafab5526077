"""What all tables of mcp-host.toml share."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ..secrets import SecretText

Seconds = Annotated[float, Field(gt=0, le=86400)]
Count = Annotated[int, Field(ge=1, le=100_000)]


class Table(BaseModel):
    """What all tables share. What checks them is made at the first check, for all at once.

    Defaults are written out, not made by `list` or `dict`: to look at the signature of those takes
    pydantic 3 ms.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _read_texts(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {
            key: cls._read_text(key, value) if isinstance(value, SecretText) else value
            for key, value in data.items()
        }

    @classmethod
    def _read_text(cls, key: str, text: str) -> Any:
        if key not in cls.model_fields:
            return text
        annotation: Any = cls.model_fields[key].annotation
        try:
            return TypeAdapter(annotation).validate_python(str(text))
        except ValidationError:
            return text  # the field itself says what is wrong with it
