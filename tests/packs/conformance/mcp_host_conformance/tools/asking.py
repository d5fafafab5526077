"""Questions to the person, the client's model and its roots, in both eras.

A parameter's name is the question's key, so these are the names that the suite answers to.
"""

from typing import Annotated, Literal

from mcp_host import Answer, Ask, Form, Root, Roots, Sample, tool
from pydantic import BaseModel, Field


class Contact(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Name(BaseModel):
    name: str


class Color(BaseModel):
    color: str


class Profile(BaseModel):
    """A field of every plain type, each with a default."""

    name: str = Field("John Doe", description="User name")
    age: int = Field(30, description="User age")
    score: float = Field(95.5, description="User score")
    status: Literal["active", "inactive", "pending"] = Field("active", description="User status")
    verified: bool = Field(True, description="Verification status")


def _titled(**titles: str) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in titles.items()]


class Choices(BaseModel):
    """Every way in which a form can offer a choice."""

    untitled_single: str = Field(
        alias="untitledSingle", json_schema_extra={"enum": ["option1", "option2", "option3"]}
    )
    titled_single: str = Field(
        alias="titledSingle",
        json_schema_extra={
            "oneOf": _titled(value1="First Option", value2="Second Option", value3="Third Option")
        },
    )
    untitled_multi: list[str] = Field(
        alias="untitledMulti",
        json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    )
    titled_multi: list[str] = Field(
        alias="titledMulti",
        json_schema_extra={
            "items": {
                "anyOf": _titled(value1="First Choice", value2="Second Choice", value3="Third")
            }
        },
    )
    legacy_enum: str = Field(
        alias="legacyEnum",
        json_schema_extra={
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
    )


@tool(read_only=True)
def test_elicitation(
    message: str, user_response: Annotated[Answer[Contact], Ask("{message}")]
) -> str:
    """Ask the person what the caller wants to know."""
    return f"User response: {_told(user_response)}"


@tool(read_only=True)
def test_elicitation_sep1034_defaults(
    profile: Annotated[Answer[Profile], Ask("Please provide user information")],
) -> str:
    """Ask with a default for everything."""
    return f"Elicitation completed: {_told(profile)}"


@tool(read_only=True)
def test_elicitation_sep1330_enums(
    choices: Annotated[Answer[Choices], Ask("Please select values")],
) -> str:
    """Ask for choices."""
    return f"Elicitation completed: {_told(choices)}"


@tool(read_only=True)
def test_streaming_elicitation(user_name: Annotated[Name, Ask("What is your name?")]) -> str:
    """Ask for a name, on the response stream of the call."""
    return f"Hello, {user_name.name}!"


@tool(read_only=True)
def test_input_required_result_elicitation(
    user_name: Annotated[Name, Ask("What is your name?")],
) -> str:
    """Ask for a name."""
    return f"Hello, {user_name.name}!"


@tool(read_only=True)
def test_input_required_result_request_state(
    confirm: Annotated[Answer[bool], Ask(Form("Please confirm", bool, "ok"))],
) -> str:
    """Ask for a confirmation, whose question the client carries in the sealed state."""
    return f"state-ok: {confirm.action}"


@tool(read_only=True)
def test_input_required_result_tampered_state(
    confirm: Annotated[Answer[bool], Ask(Form("Please confirm", bool, "ok"))],
) -> str:
    """Ask for a confirmation; a client that changes the sealed state gets no further."""
    return f"state-ok: {confirm.action}"


def _ask_for_a_color(step1: Name) -> Form[Color]:
    return Form("Step 2: What is your favorite color?", Color)


@tool(read_only=True)
def test_input_required_result_multi_round(
    step1: Annotated[Name, Ask("Step 1: What is your name?")],
    step2: Annotated[Color, Ask(_ask_for_a_color)],
) -> str:
    """Ask twice, the second time after the first answer."""
    return f"{step1.name} likes {step2.color}."


def _sample_the_prompt(prompt: str) -> Sample:
    return Sample(prompt, max_tokens=100)


@tool(read_only=True)
def test_sampling(prompt: str, response: Annotated[str, Ask(_sample_the_prompt)]) -> str:
    """Have the client's model answer a prompt."""
    return f"LLM response: {response}"


@tool(read_only=True)
def test_input_required_result_sampling(
    capital_question: Annotated[str, Ask(Sample("What is the capital of France?", 100))],
) -> str:
    """Have the client's model answer a question."""
    return f"Model said: {capital_question}"


@tool(read_only=True)
def test_missing_capability(greeting: Annotated[str, Ask(Sample("Say hello", 50))]) -> str:
    """Work with no client that cannot sample."""
    return greeting


@tool(read_only=True)
def test_input_required_result_list_roots(
    client_roots: Annotated[list[Root], Ask(Roots())],
) -> str:
    """Ask for the client's roots."""
    return f"Found {len(client_roots)} root(s)."


@tool(read_only=True)
def test_input_required_result_multiple_inputs(
    user_name: Annotated[Name, Ask("What is your name?")],
    greeting: Annotated[str, Ask(Sample("Generate a greeting", 50))],
    client_roots: Annotated[list[Root], Ask(Roots())],
) -> str:
    """Ask three things in one round."""
    return f"{greeting} {user_name.name} of {len(client_roots)} root(s)."


@tool(read_only=True)
def test_input_required_result_capabilities(
    greeting: Annotated[str | None, Ask(Sample("Say hello", 50))],
    user_name: Annotated[Name | None, Ask("What is your name?")],
) -> str:
    """Ask only what this client can answer."""
    return f"{greeting or 'Hello'}, {user_name.name if user_name else 'stranger'}!"


def _told(answer: Answer[BaseModel]) -> str:
    content = answer.value.model_dump_json(by_alias=True) if answer.value else "{}"
    return f"action={answer.action}, content={content}"


TOOLS = (
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_streaming_elicitation,
    test_input_required_result_elicitation,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multi_round,
    test_sampling,
    test_input_required_result_sampling,
    test_missing_capability,
    test_input_required_result_list_roots,
    test_input_required_result_multiple_inputs,
    test_input_required_result_capabilities,
)
