"""Calls at a terminal: a person answers there, declines, or presses Ctrl-C."""

import time

import pytest
from core_desk import DESK, PRESSES
from core_home import Home


def test_a_tool_that_asks_is_answered_at_the_terminal(desk: Home) -> None:
    agreed = desk.type_into(
        "call", "desk_shred", 'ids=["a","b"]', *DESK, answers=[("Shred ['a', 'b']?", "y")]
    )
    posted = desk.type_into(
        "call", "desk_post", "--json", *DESK,
        answers=[("street", "High Street"), ("number", "many"), ("kind", ""),
                 ("street", "High Street"), ("number", "7"), ("kind", "work")],
    )  # fmt: skip
    letter = desk.type_into(
        "prompt", "desk_letter", "to=Ann", *DESK, answers=[("In which tone to Ann?", "kindly")]
    )

    assert (agreed.code, agreed.out) == (0, "shredded 2\n")
    assert "kind (home, work)" in posted.err
    assert posted.json["structuredContent"] == {"action": "accept", "street": "High Street"}
    assert letter.out == "Dear Ann, kindly yours\n"


@pytest.mark.parametrize("key", ["^C", "^D"])
def test_leaving_a_question_at_the_terminal_refuses_it(desk: Home, key: str) -> None:
    left = desk.type_into("call", "desk_shred", 'ids=["a"]', *DESK, answers=[("[y/n]: ", key)])

    assert (left.code, left.out) == (1, "")
    assert "error (cancelled): The user chose to cancel." in left.err


def test_without_a_terminal_a_tool_that_asks_says_that_nobody_can_be_asked(desk: Home) -> None:
    asked = desk.run("call", "desk_shred", 'ids=["a"]', *DESK)

    assert asked.code == 1
    assert asked.err == (
        "error: this asks a person, and nobody can answer here: run it in a terminal, "
        "or give --answer sure=…\n"
    )


def test_answers_are_given_on_the_command_line_or_through_a_pipe(desk: Home) -> None:
    agreed = desk.run("call", "desk_shred", 'ids=["a","b"]', "--answer", "sure=true", *DESK)
    piped = desk.run(
        "call", "desk_post", "--answers", "-", "--json", *DESK,
        stdin='{"street": "High Street", "number": 7, "kind": "work"}',
    )  # fmt: skip
    letter = desk.run("prompt", "desk_letter", "to=Ann", "--answers", '{"tone": "kindly"}', *DESK)

    assert (agreed.code, agreed.out) == (0, "shredded 2\n"), agreed.err
    assert piped.json["structuredContent"] == {"action": "accept", "street": "High Street"}
    assert letter.out == "Dear Ann, kindly yours\n", letter.err


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["--answer", "other=1"], "--answer street=…"),
        (["--answer", "street=High Street", "--answer", "number=many"], "'number': 'many'"),
        (["--answers", "[1]"], "--answers must be a JSON object"),
        (["--answers", "{"], "--answers must be JSON"),
        (["--answer", "street"], "'street' must be name=value"),
    ],
)
def test_an_answer_that_is_missing_or_does_not_fit_ends_the_command_and_is_asked_for_by_name(
    desk: Home, answers: list[str], said: str
) -> None:
    ended = desk.run("call", "desk_post", *answers, *DESK, env={"COLUMNS": "200"})

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_call_shows_its_progress_and_its_log_on_standard_error(desk: Home) -> None:
    done = desk.run("call", "desk_tell", "count=2", *DESK)

    assert (done.code, done.out) == (0, "told\n")
    assert "… 2 of 2: step 2\n" in done.err
    assert "info: a message of level info\n" in done.err


@pytest.mark.parametrize("where", ["import", "tool"])
def test_ctrl_c_ends_a_command_at_once_with_130_and_no_traceback(home: Home, where: str) -> None:
    home.add_pack("press", PRESSES.format(where=where))
    home.write("[packs.press]\n")

    began = time.monotonic()
    ended = home.run("call", "press_hang", "--config", "mcp-host.toml")

    assert (ended.code, ended.out) == (130, "")
    assert "Traceback" not in ended.err
    assert time.monotonic() - began < 10


def test_a_command_that_is_told_to_end_has_its_tool_clean_up(home: Home) -> None:
    (home.project / "hang.py").write_text(
        "import asyncio, os, signal, sys\nfrom mcp_host import tool\n\n\n"
        "@tool(timeout=60)\nasync def hang() -> str:\n    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    try:\n        await asyncio.Event().wait()\n"
        "    finally:\n        print('cleaned up', file=sys.stderr)\n"
    )

    ended = home.run("call", "./hang.py", "hang")

    assert (ended.code, ended.out) == (143, ""), ended.err
    assert "cleaned up" in ended.err
    assert "Traceback" not in ended.err


def test_two_forms_with_fields_of_one_name_are_answered_by_their_parameters(home: Home) -> None:
    (home.project / "pair.py").write_text(
        "from typing import Annotated\nfrom mcp_host import Ask, tool\n"
        "from pydantic import BaseModel\n\n\n"
        "class Who(BaseModel):\n    name: str\n    age: int = 3\n\n\n"
        "@tool\ndef pair(one: Annotated[Who, Ask('Who?')], two: Annotated[Who, Ask('And who?')])"
        " -> str:\n    return f'{one.name} {one.age}, {two.name} {two.age}'\n"
    )
    answers = ("--answer", "one.name=Ann", "--answer", "two.name=Bo", "--answer", "two.age=5")

    paired = home.run("call", "pair.py", "pair", *answers)
    one = home.run("call", "pair.py", "pair", "--answer", "name=Ann", env={"COLUMNS": "200"})

    assert paired.out == "Ann 3, Bo 5\n"
    assert one.code == 2
    assert "And who? Answer with: --answer two.name=…" in one.err
