"""Packs whose answers to the host are wrong, one for each way."""

import time
from types import SimpleNamespace

from mcp_host import Tool, hookimpl, resource, tool
from pydantic import BaseModel, ConfigDict


class Pack(SimpleNamespace):
    """What stands for a plugin module."""

    __hash__ = object.__hash__


def pack(**hooks):
    """A pack that answers these hooks (their names without `mcp_host_`)."""
    return Pack(**{f"mcp_host_{name}": hookimpl(function) for name, function in hooks.items()})


def answering(**answers):
    """A pack whose hooks answer this."""
    return pack(**{hook: lambda answer=answer: answer for hook, answer in answers.items()})


@tool
def fine() -> str:
    """Work well."""
    return "fine"


class Melting(BaseModel):
    """Settings that could change while they are used."""


class Demanding(BaseModel):
    model_config = ConfigDict(frozen=True)
    url: str


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True)
    size: int = 1


def _raises():
    raise LookupError("no tools today")


def _exits():
    raise SystemExit(4)


def _hangs():
    time.sleep(60)


async def _later():
    return [fine]


@tool
def of_a_service(service, /) -> str:
    """Want a service that nothing makes."""
    return service


@tool
def of_anything(*values) -> str:
    """Take what no schema can say."""
    return str(values)


@resource("no-scheme")
def no_scheme() -> str:
    """A resource that nobody can ask for."""
    return ""


@resource("odd://{?query}")
def odd_uri() -> str:
    """A resource whose template is of another kind."""
    return ""


@resource("shape://{one}/x")
def one_shape(one: str) -> str:
    """A template."""
    return one


no_hooks = Pack(answer=42)
unmarked = Pack(mcp_host_tools=lambda: [fine])
misspelt = pack(tulls=lambda: [fine])
async_hook = pack(tools=_later)
unknown_argument = pack(tools=lambda nonsense: [fine])
settings_number = answering(settings=42)
settings_melting = answering(settings=Melting)
settings_demanding = answering(settings=Demanding)
settings_wrong = answering(settings=Strict, tools=[fine])
tools_number = answering(tools=42)
tools_numbers = answering(tools=[fine, 42])
tools_raise = pack(tools=_raises)
tools_exit = pack(tools=_exits)
tools_hang = pack(tools=_hangs)
tools_half_a_name = answering(tools=[Tool(fine.function, name=5)])
tools_bad_name = answering(tools=[fine.replace(name="not a name")])
tools_twice = answering(tools=[fine, fine])
tools_no_json = answering(tools=[fine.replace(meta={"made": object()})])
tools_half_character = answering(tools=[fine.replace(description="a\ud800b")])
tools_title = answering(tools=[fine.replace(title=object())])
tools_no_service = answering(tools=[of_a_service])
tools_star = answering(tools=[of_anything])
tools_unknown_sibling = answering(tools=[fine.replace(description="see {tool:coarse}")])
tools_timeout = answering(tools=[fine.replace(timeout="soon")])
tools_wrong_settings = answering(tools=[fine])
resources_odd_uri = answering(resources=[odd_uri])
resources_one_shape = answering(resources=[one_shape, resource("shape://{two}/x")(lambda two: two)])
resources_text = answering(resources="sample://x")
resources_no_scheme = answering(resources=[no_scheme])
prompts_tools = answering(prompts=[fine])
instructions_number = answering(instructions=42, tools=[fine])
instructions_long = answering(instructions="x" * 501, tools=[fine])
errors_list = answering(errors=[KeyError], tools=[fine])
errors_unknown_code = answering(errors={KeyError: "lost"}, tools=[fine])
errors_no_code = answering(errors={KeyError: ["lost"]}, tools=[fine])
acts_as_root = answering(acts_as="root", tools=[fine])
checks_number = answering(checks=42, tools=[fine])
checks_numbers = answering(checks=[42], tools=[fine])
open_nothing = answering(open=42, tools=[fine])
