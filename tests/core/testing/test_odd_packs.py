"""Packs as strangers write them: what is a mistake is told with its cure, what is none works."""

import importlib
import sys
from pathlib import Path

import pytest
from mcp_host.testing import check_pack

ODD = Path(__file__).parents[2] / "packs" / "odd"
MISTAKES = {
    "async_generator": "returned, not yielded",
    "async_hook": "write a plain `def`",
    "awaited_progress": "leave out await: `context.progress(…)`",
    "never_succeeds": "no call of it succeeded (the last ended in not_found)",
    "bare_list": "`list[str]` in place of `list`",
    "class_method": "must be one of the module, not a classmethod",
    "context_without_annotation": "annotate it `context: Context`",
    "missing_dependency": "name its distribution among the dependencies",
    "forgotten_return": "is a `return` missing?",
    "method": "make the tool of a function of the module",
    "partial": "write a `def`",
    "plain_object": "return a model, a dataclass, a TypedDict or plain data",
    "returned_service": "must yield the service once",
    "two_of_one_name": "two tools called",
    "wrong_default": "give a default that fits",
    "blocks": "await asyncio.sleep(…)",
    "calls_a_tool": "have both tools call a plain one",
    "configures_logging": "write by logging.getLogger(__name__)",
    "decorated": "functools.wraps",
    "empty_choice": "where there is nothing to choose",
    "exits": "sys.exit() ends programs, not calls",
    "exits_at_import": "let the import raise what is wrong",
    "forgets_await": "await what it calls",
    "gives_bytes": "return Image, Audio or Embedded",
    "handles_signals": "leave signals to the host",
    "generator": "returned, not yielded",
    "misspelt_hook": "did you mean mcp_host_tools?",
    "moves": "the call changes the working directory",
    "moves_at_import": "the import changes the working directory",
    "not_a_number": "annotate `-> float | None`",
    "no_annotation": "annotate it, such as `city: str`",
    "no_example": 'Field(examples=["…"])',
    "no_docstring": "write a docstring",
    "no_hookimpl": "put @hookimpl above it",
    "no_json": "return data with a JSON form",
    "no_return": "annotate the return value",
    "no_service": "must have a mcp_host_open hook",
    "no_tool": "make it with @tool",
    "not_as_annotated": "return what the function's return annotation says",
    "nothing": "implement one of mcp_host_settings",
    "odd_name": "rename it",
    "pair": "a model with a named field for each place",
    "plain_open": "put @asynccontextmanager under @hookimpl",
    "reads_environment": 'Needs(reads_environment=("WEATHER_MOOD",))',
    "reads_terminal": "nobody sits before a server",
    "replaces_a_function": "replaces os.getlogin of the standard library",
    "runs_a_loop": "an `async def` runs in a loop already",
    "required_setting": "give every field a default",
    "secret_default": "take the default away",
    "silent_writer": "@tool(read_only=True) if it only reads",
    "sqlite_in_threads": "check_same_thread=False",
    "star_arguments": "name the parameters",
    "swallows_cancellation": "catch Exception or what you mean",
    "tools_by_name": "not a list of Tool",
    "twice": "forecast",
    "type_checking_only": "needed at run time",
    "uncounted_page": "count the whole list as well",
    "type_list": '"anyOf": [{"type": "string"}, {"type": "null"}]',
    "typing_typed_dict": "typing_extensions.TypedDict",
    "unknown_sibling": "places",
    "unknown_to_hook": "mcp_host_tools may take these by their names: settings",
    "unmapped_error": "name it in mcp_host_errors: {NoSuchCity",
    "wants_a_variable": "make 'WEATHER_PLACE_THAT_IS_NOT_SET' a setting",
    "works_at_import": "do it in mcp_host_open",
}
STAGES = {
    "calls_a_tool": "running",
    "configures_logging": "imported",
    "empty_choice": "running",
    "exits": "running",
    "uncounted_page": "running",
    "forgets_await": "running",
    "gives_bytes": "running",
    "moves": "running",
    "moves_at_import": "imported",
    "not_a_number": "running",
    "reads_terminal": "running",
    "replaces_a_function": "imported",
    "runs_a_loop": "running",
    "no_example": "running",
    "no_json": "running",
    "never_succeeds": "running",
    "not_as_annotated": "running",
    "plain_open": "running",
    "reads_environment": "running",
    "returned_service": "running",
    "sqlite_in_threads": "running",
    "unknown_to_hook": "mcp_host_tools may take these by their names: settings",
    "unmapped_error": "running",
    "works_at_import": "imported",
}
"""The stages of the check that find what the declarations do not show."""
NO_MISTAKES = (
    "all_kinds",
    "examples",
    "future_annotations",
    "odd_answers",
    "positional_words",
    "prints",
    "question_with_service",
    "set_result",
    "union_with_none",
)
ABOUT_WORDS = {"descriptions", "tokens"}
"""What the good ones leave out for brevity."""


@pytest.fixture(autouse=True)
def odd_packs(monkeypatch):
    monkeypatch.syspath_prepend(ODD)
    yield
    for path in ODD.glob("*.py"):
        sys.modules.pop(path.stem, None)
    importlib.invalidate_caches()


def test_every_odd_pack_is_looked_at():
    assert {path.stem for path in ODD.glob("*.py")} == {*MISTAKES, *NO_MISTAKES}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_cure(name):
    if name == "typing_typed_dict" and sys.version_info >= (3, 12):
        pytest.skip("no mistake from Python 3.12 on")

    found = check_pack("weather", module=name, stages=[STAGES.get(name, "declared")])

    assert any(MISTAKES[name] in f"{one.problem} {one.remedy}" for one in found), found


@pytest.mark.parametrize("name", NO_MISTAKES)
def test_what_is_no_mistake_works(name):
    found = check_pack("weather", module=name, stages=["declared", "running"], fuzz=2)

    assert [one for one in found if one.rule not in ABOUT_WORDS and one.severity == "error"] == []


def test_a_tool_is_called_with_the_example_of_a_parameter():
    assert check_pack("weather", module="examples", stages=["running"]) == []
