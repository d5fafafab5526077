"""The commands that list and call: words, JSON, and packs that print."""

import re

import pytest
from core_desk import DESK, LOUD
from core_home import Home
from mcp_host.startup.options import HELP


def test_what_packs_print_never_reaches_the_output_of_a_command(home: Home) -> None:
    home.add_pack("loud", LOUD)
    home.write("[packs.loud]\n")
    config = ("--config", "mcp-host.toml")

    called = home.run("call", "loud_shout", *config)
    lists = [
        home.run(command, "--json", *config)
        for command in ("packs", "tools", "resources", "prompts", "doctor")
    ]

    assert called.out == "quiet\n"
    assert called.err.count("NOISE") == 5
    packs, tools, resources, prompts, doctor = [one.json for one in lists]
    assert [one.code for one in lists] == [0] * 5
    assert [tool["name"] for tool in tools] == ["loud_shout"]
    assert {resource["uri"] for resource in resources} == {
        *("loud://text", "host://packs", "host://usage")
    }
    assert [prompt["name"] for prompt in prompts] == ["loud_ask"]
    (loud,) = [pack for pack in packs["packs"] if pack["name"] == "loud"]
    assert (loud["state"], loud["tools"], loud["distribution"]) == ("checked", 1, "loud-pack")
    assert doctor["healthy"] is True


def test_a_call_prints_what_the_tool_returned_as_text_or_whole_as_json(desk: Home) -> None:
    spoken = desk.run("call", "desk_greet", "name=Ann", "loud=true", *DESK)
    whole = desk.run(
        "call", "desk_draw", 'pen={"colour": "red"}', "--arguments", '{"lines": [1]}', "--json",
        *DESK,
    )  # fmt: skip
    read = desk.run("read", "desk://all", *DESK)
    filled = desk.run("prompt", "desk_tidy", "shelf=top", *DESK)
    kinds = desk.run("call", "desk_everything", *DESK)

    assert (spoken.code, spoken.out) == (0, "Hello Ann!\n")
    assert whole.json["structuredContent"]["pen"] == {"colour": "red", "width": 1.0}
    assert whole.json["_meta"]["mcp-host/request-id"]
    assert read.out.splitlines() == ["1040", "green", "blue", "[image/x-stamp, 2 bytes]"]
    assert filled.out.splitlines() == ["Tidy top: tax", "I shall."]
    assert kinds.out.startswith("words\n[image/png, ")


def test_tools_tells_of_the_tools_of_one_pack_and_of_the_arguments_of_one_tool(desk: Home) -> None:
    of_pack = desk.run("tools", "desk", "--json", *DESK)
    one, one_json = (
        desk.run("tools", "desk_greet", *DESK),
        desk.run("tools", "desk_greet", "--json", *DESK),
    )
    none = desk.run("tools", "desck", *DESK)

    assert {tool["name"] for tool in of_pack.json} >= {"desk_greet", "desk_draw"}
    assert one.out.startswith("desk_greet (")
    lines = [line.split() for line in one.out.splitlines()]
    assert ["name", "string", "required"] in [line[:3] for line in lines]
    assert ["loud", "boolean"] in [line[:2] for line in lines]
    assert one_json.json["inputSchema"]["properties"].keys() == {"name", "loud"}
    assert none.code == 1
    assert "no tool and no pack 'desck'; packs are: desk; did you mean 'desk'?" in none.err


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("enable des", "desk"),
        ("call desk_gre", "desk_greet"),
        ("prompt desk_ti", "desk_tidy"),
        ("tools desk_gre", "desk_greet"),
        ("install cur", "cursor"),
    ],
)
def test_the_shell_proposes_packs_tools_and_clients(home: Home, words: str, proposed: str) -> None:
    home.run("init", "desk")
    home.add_pack("loud", LOUD)

    asked = home.run(
        env={
            "_MCP_HOST_COMPLETE": "complete_bash",
            "COMP_WORDS": f"mcp-host {words}",
            "COMP_CWORD": str(len(words.split())),
        }
    )

    assert asked.out.split() == [proposed]


def test_a_flag_is_told_without_a_type(home: Home) -> None:
    for words in (["--help"], ["tools", "--help"], ["config", "show", "--help"]):
        assert "<bool>" not in home.run(*words).out


def test_the_help_of_serve_has_every_option_that_a_start_takes(home: Home) -> None:
    shown = home.run("serve", "--help", env={"COLUMNS": "300"}).out

    for option, told in HELP.items():
        assert re.search(rf"{option} .*{re.escape(told)}", shown), option


def test_doctor_says_what_the_settings_make_of_tools_without_secrets(desk: Home) -> None:
    desk.write(
        "[packs.desk.tools.greet]\nname = 'hello'\ncache = 5\n"
        "[packs.desk.tools.greet.arguments.name]\nvalue = { env = 'WHO' }\nhidden = true\n",
        "changed.toml",
    )
    doctor = [
        desk.run("doctor", "--config", "changed.toml", *more, env={"WHO": "s3cret-Ann"})
        for more in ((), ("--json",))
    ]

    assert 'greet, by the settings: name = "hello", cache = 5.0, ' in doctor[0].out
    (told,) = [
        pack["tools_by_settings"] for pack in doctor[1].json["packs"] if pack["name"] == "desk"
    ]
    assert told["greet"]["arguments"]["name"]["hidden"] is True
    assert "s3cret-Ann" not in doctor[0].out + doctor[1].out


def test_an_error_of_a_call_is_told_on_standard_error_and_ends_with_1(desk: Home) -> None:
    unfit = desk.run("call", "desk_greet", "nmae=Ann", *DESK)
    unknown = desk.run("call", "desk_great", "--json", *DESK)
    missing = desk.run("read", "desk://papers/none", "--json", *DESK)
    misused = desk.run("call", "desk_greet", "Ann", *DESK)
    whole = desk.run("call", "desk_greet", '{"a":"b=c"}', *DESK)
    no_json = desk.run("call", "desk_greet", "--arguments", "{", *DESK)

    assert (unfit.code, unknown.code, missing.code) == (1, 1, 1)
    assert unfit.out == ""
    assert unfit.err.startswith("error (validation_error): Invalid arguments: ")
    assert "Did you mean 'name' instead of 'nmae'?" in unfit.err
    assert unknown.json["error"]["code"] == -32602
    assert unknown.json["error"]["data"]["suggestions"] == ["Did you mean 'desk_greet'?"]
    assert missing.json["error"]["data"]["code"] == "not_found"
    assert missing.json["error"]["data"]["uri"] == "desk://papers/none"
    assert (misused.code, no_json.code) == (2, 2)
    assert "'Ann' must be name=value" in misused.err
    assert "must be name=value, or follow --arguments" in whole.err


def test_packs_are_called_where_they_are_written_without_settings(home: Home) -> None:
    file = home.project / "greet.py"
    file.write_text(
        "from mcp_host import prompt, resource, tool\n\n\n"
        "@tool\ndef greet(name: str) -> str:\n    return f'Hello {name}!'\n\n\n"
        "@resource('greet://words')\ndef words() -> str:\n    return 'Hello'\n\n\n"
        "@prompt\ndef politely(name: str) -> str:\n    return f'Greet {name}.'\n"
    )
    project = home.project / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "barn.py").write_text(
        "from mcp_host import hookimpl, tool\n\n\n@tool\ndef low() -> str:\n    return 'moo'\n\n\n"
        "@hookimpl\ndef mcp_host_tools():\n    return [low]\n"
    )
    (project / "pyproject.toml").write_text(
        '[project]\nname = "barn"\n[project.entry-points."mcp_host.packs"]\nbarn = "barn"\n'
    )

    assert home.run("call", "greet.py", "greet", "name=Ann").out == "Hello Ann!\n"
    assert home.run("call", "greet_greet", "name=Ann", "--config", "greet.py").out == "Hello Ann!\n"
    assert home.run("read", "./greet.py", "greet://words").out == "Hello\n"
    assert home.run("prompt", "./greet.py", "politely", "name=Ann").out == "Greet Ann.\n"
    assert home.run("call", "./project", "low").out == "moo\n"
    assert home.run("tools", "./project", "--json").json[0]["name"] == "barn_low"
    assert home.run("tools", "./greet.py", "greet").out.startswith("greet_greet (")
    assert home.run("prompts", "./greet.py", "--json").json[0]["name"] == "greet_politely"
    assert home.run("prompts", "./project").out == "project has no prompts\n"
    text = home.run("call", "greet.py", "greet", "name=1").err
    assert "name=1 is read as JSON; as a text it is name='\"1\"'" in text
    assert "there is no file" in home.run("call", "./no.py", "greet").err
    assert "the name of a tool must follow" in home.run("call", "greet.py").err
