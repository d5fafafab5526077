"""Prompts: plain, with arguments, with contents, and one that asks first."""

from typing import Annotated

from mcp_host import Ask, Complete, Embedded, Image, Message, prompt
from pydantic import BaseModel

from .samples import PICTURE


@prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


def _cities(value: str) -> list[str]:
    return [city for city in ("paris", "park city", "party") if city.startswith(value)]


@prompt
def test_prompt_with_arguments(arg1: Annotated[str, Complete(_cities)], arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """A prompt with a resource in it."""
    return [
        Message(Embedded(resourceUri, "Embedded resource content for testing.")),
        Message("Please process the embedded resource above."),
    ]


@prompt
def test_prompt_with_image() -> list[Message]:
    """A prompt with a picture in it."""
    return [Message(Image(PICTURE)), Message("Please analyze the image above.")]


class Background(BaseModel):
    context: str


@prompt
def test_input_required_result_prompt(
    user_context: Annotated[Background, Ask("What context should the prompt use?")],
) -> str:
    """A prompt that asks the person first."""
    return f"Use the following context: {user_context.context}"


PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
)
