"""The commands as a person and a script use them: words, JSON, questions, exit codes."""

import json
import re
import socket
import time

import pytest
from core_home import Home
from mcp_host.startup.options import HELP

LOUD = """
import os, sys
print("NOISE at import"); os.write(1, b"NOISE to the descriptor\\n")
from mcp_host import hookimpl, prompt, resource, tool
@tool
def shout() -> str:
    print("NOISE in the tool"); sys.__stdout__.write("NOISE to the old stdout\\n")
    return "quiet"
@resource("loud://text")
def text() -> str: return "a text"
@prompt
def ask(what: str) -> str: return f"Ask {what}"
@hookimpl
def mcp_host_tools(): print("NOISE in a hook"); return [shout]
@hookimpl
def mcp_host_resources(): return [text]
@hookimpl
def mcp_host_prompts(): return [ask]
"""
OPENS = """
from contextlib import asynccontextmanager
from mcp_host import hookimpl
@hookimpl
@asynccontextmanager
async def mcp_host_open(pack):
    {body}
    yield None
"""
PRESSES = """
import os, subprocess, sys, time
from mcp_host import hookimpl, tool
KILL = "import os, signal, sys; os.kill(int(sys.argv[1]), signal.SIGINT)"
def press():
    subprocess.run([sys.executable, "-c", KILL, str(os.getpid())])
    time.sleep(60)
if "{where}" == "import":
    press()
@tool(timeout=60)
def hang() -> str:
    press()
@hookimpl
def mcp_host_tools(): return [hang]
"""
DESK = ("--config", "desk.toml")


@pytest.fixture
def desk(home: Home) -> Home:
    """A machine with a settings file that enables the desk."""
    home.write("[packs.desk]\n", "desk.toml")
    return home


# -- init ------------------------------------------------------------------------------------------


def test_init_enables_what_is_named_trusts_its_file_and_says_what_comes_next(home: Home) -> None:
    made = home.run("init", "desk")
    listed = home.run("tools", "--json")
    again = home.run("init", "desk")
    unknown = home.run("init", "desck", "--config", "other.toml")
    nothing = home.run("init", "--config", "other.toml")

    assert made.code == 0
    assert "mcp-host doctor" in made.out
    assert "mcp-host connect" in made.out
    assert "desk_greet" in [tool["name"] for tool in listed.json]
    assert again.code == 1
    assert "is there already; enable packs with: mcp-host enable" in again.err
    assert unknown.code == 1
    assert "no pack 'desck' is installed" in unknown.err
    assert nothing.code == 2
    assert "--all" in nothing.err
    assert not (home.project / "other.toml").exists()


def test_init_imports_no_pack_and_all_enables_every_installed_one(home: Home) -> None:
    home.add_pack("bomb", "raise SystemExit('imported')")

    made = home.run("init", "--all")
    shown = home.run("config", "show", "--json")

    assert made.code == 0
    assert {"bomb", "desk", "todo_db"} <= shown.json["packs"].keys()
    assert all(table == {"enabled": True} for table in shown.json["packs"].values())


@pytest.mark.parametrize("how", ["number", "name"])
def test_init_at_a_terminal_is_one_list_to_tick(home: Home, how: str) -> None:
    installed = sorted(pack["name"] for pack in home.run("packs", "--json").json["packs"])
    ticked = "desk" if how == "name" else str(installed.index("desk") + 1)

    made = home.type_into(
        "init", answers=[("Enter: all", "99"), ("must be a number from 0 to", ticked)]
    )

    assert made.code == 0, made.err
    for number, name in enumerate(installed, 1):
        assert f"  {number}  {name}: " in made.err
    assert "A desk that answers, asks, tells and keeps secrets" in made.err
    assert home.run("config", "show", "--json").json == {"packs": {"desk": {"enabled": True}}}


def test_init_all_in_the_home_folder_leaves_out_what_needs_a_project(home: Home) -> None:
    own = {"HOME": str(home.project)}

    made = home.run("init", "--all", env=own)
    enabled = home.run("config", "show", "--json", env=own).json["packs"]

    assert made.code == 0
    assert "todo_db" in enabled
    assert not enabled.keys() & {"cortex", "openspec", "tasky"}
    for name in ("desk", "openspec"):
        assert f"{name} works on a project" in made.err
        assert f"[packs.{name}.settings]" in made.err


# -- lists, calls and noise ------------------------------------------------------------------------


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
    assert "no tool and no pack 'desck'; packs are: desk" in none.err


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


# -- asking at a terminal --------------------------------------------------------------------------


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
        "or give --answer\n"
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


# -- doctor ----------------------------------------------------------------------------------------


def test_doctor_ends_with_0_only_when_packs_are_ready_or_merely_not_set_up(home: Home) -> None:
    home.add_pack(
        "unmade",
        OPENS.format(body='pack.degraded("no plan", code="not_set_up", remedy="run plan init")'),
    )
    home.add_pack("broken", OPENS.format(body='raise OSError("the disk is gone")'))
    config = ("--config", "mcp-host.toml")
    home.write("[packs.desk]\n[packs.unmade]\n[packs.broken]\nenabled = false\n")
    well, well_json = home.run("doctor", *config), home.run("doctor", "--json", *config)
    home.write('[packs.desk.settings]\nmood = "busy"\n')
    found = home.run("doctor", *config)
    home.write("[packs.broken]\n[packs.nobody_has_it]\n")
    failed = home.run("doctor", *config)

    assert (well.code, well_json.code, found.code, failed.code) == (0, 0, 1, 1)
    states = {pack["name"]: pack["state"] for pack in well_json.json["packs"]}
    assert states == {"desk": "ready", "unmade": "degraded", "broken": "disabled"}
    for text in ("no plan", "run plan init"):
        assert text in well.out
    assert "is worn" in found.out
    assert "have a new one cut" in found.out
    assert "the disk is gone" in failed.out
    assert "tried again" not in failed.out  # not by a command that ends now
    assert "no installed distribution offers a pack 'nobody_has_it'" in failed.out


# -- serve: exit codes and addresses ---------------------------------------------------------------


def test_a_required_pack_that_fails_ends_serve_with_3_and_one_clear_line(home: Home) -> None:
    home.add_pack("broken", OPENS.format(body='raise OSError("the disk is gone")'))
    home.write("[packs.broken]\nrequired = true\n")

    for transport in (["--stdio"], ["--transport", "http", "--port", "0"]):
        ended = home.run("serve", "--config", "mcp-host.toml", *transport)
        lines = [line for line in ended.err.splitlines() if "is failed" in line]
        assert ended.code == 3
        assert len(lines) == 1
        assert lines[0].startswith("error: pack broken is failed")
        assert "the disk is gone" in lines[0]


def test_serve_without_a_settings_file_serves_no_packs_and_says_how_to_make_one(
    home: Home,
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"},
        },
    }
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    said = "".join(json.dumps(frame) + "\n" for frame in (hello, listing))

    ended = home.run("serve", stdin=said)

    answers = {frame["id"]: frame["result"] for frame in map(json.loads, ended.out.splitlines())}
    assert ended.code == 0
    assert answers[2]["tools"] == []
    assert "mcp-host init" in ended.err


def test_safe_mode_serves_no_packs_and_says_so(desk: Home) -> None:
    tools = desk.run("tools", "--json", *DESK, env={"MCP_HOST_NO_PACKS": "1"})
    served = desk.run("serve", *DESK, env={"MCP_HOST_NO_PACKS": "1"})

    assert (tools.code, tools.json, served.code) == (0, [], 0)
    for one in (tools, served):
        assert "MCP_HOST_NO_PACKS=1: no packs are served" in one.err
    packs = desk.run("packs", "--json", *DESK, env={"MCP_HOST_NO_PACKS": "1"})
    assert {pack["code"] for pack in packs.json["packs"]} == {"safe_mode"}


def test_an_open_address_is_refused_before_anything_else_and_both_ways_out_are_named(
    home: Home,
) -> None:
    home.add_pack(
        "curious", "import os, pathlib; pathlib.Path(os.environ['MARK']).write_text('imported')"
    )
    home.write('[packs.curious.settings]\nkey = { env = "NOBODY_SET_IT" }\n')
    mark = home.folder / "mark"

    refused = home.run(
        "serve", "--config", "mcp-host.toml", "--transport", "http", "--host", "0.0.0.0",
        env={"MARK": str(mark)},
    )  # fmt: skip

    assert refused.code == 1
    assert "refusing to listen on 0.0.0.0" in refused.err
    assert "[[http.tokens]]" in refused.err
    assert "allow_unauthenticated = true" in refused.err
    assert not mark.exists()


def test_a_port_in_use_is_one_clear_line_that_names_the_option(desk: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = desk.run("serve", *DESK, "--transport", "http", "--port", port)

    assert ended.code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.err
    assert "--port" in ended.err
    assert "Traceback" not in ended.err


def test_wrong_usage_ends_with_2_and_a_folder_that_cannot_be_written_with_1(home: Home) -> None:
    (home.folder / "config").write_text("a file where a folder should be")

    unknown, no_port = home.run("sevre"), home.run("serve", "--port", "many")
    unwritable = home.run("init", "desk")

    assert (unknown.code, no_port.code, unwritable.code) == (2, 2, 1)
    assert "'many' must be a port" in no_port.err
    assert unwritable.err.startswith("error: ")
    assert "Traceback" not in unwritable.err


def test_commands_that_need_no_server_do_not_import_the_sdk(desk: Home) -> None:
    listed = desk.run("packs", "--json", *DESK, env={"PYTHONPROFILEIMPORTTIME": "1"})

    imported = {line.split("|")[-1].strip() for line in listed.err.splitlines()}
    assert "mcp_host.packs" in imported
    assert "desk_pack.tools" in imported
    assert not {"mcp", "mcp_types", "uvicorn", "sqlalchemy"} & imported


def test_people_get_a_table_of_packs_with_what_to_do_about_those_not_enabled(desk: Home) -> None:
    shown = desk.run("packs", *DESK)

    lines = {line.split()[0]: line for line in shown.out.splitlines() if line.strip()}
    assert "checked" in lines["desk"]
    assert "mcp-host enable todo_db" in lines["todo_db"]
    assert "not opened: `mcp-host doctor`" in shown.out


def test_host_packs_read_at_the_terminal_tells_how_opening_ended(desk: Home) -> None:
    (report,) = json.loads(desk.run("read", "host://packs", *DESK).out)

    assert (report["name"], report["state"]) == ("desk", "ready")


def test_beside_a_file_that_is_not_trusted_every_advice_is_to_trust_it(home: Home) -> None:
    path = home.write("[packs.desk]\n")
    told = [home.run(*words.split()) for words in ("init", "enable desk", "doctor", "serve")]
    packs = home.run("packs", "--json").json["packs"]

    for one in told:
        (line,) = one.err.splitlines()[:1]
        assert f"run: mcp-host trust {path}" in line
        assert "mcp-host init" not in one.err
    assert {pack["remedy"] for pack in packs} == {"mcp-host trust"}


def test_what_packs_says_to_do_without_a_settings_file_can_be_done(home: Home) -> None:
    told = {pack["name"]: pack for pack in home.run("packs", "--json").json["packs"]}
    words = told["desk"]["remedy"].split()

    assert home.run(*words[1:]).code == 0
    assert "checked" in home.run("packs").out


def test_commands_wait_for_a_slow_import_and_say_which_pack_does_not_end_its_own(
    home: Home,
) -> None:
    home.add_pack("slow", "import time; time.sleep(1.2)\n" + LOUD)
    home.add_pack("endless", "import time; time.sleep(600)")
    home.write("[host]\nstart_timeout = 2\n[packs.endless]\n[packs.slow]\n")
    config = ("--config", "mcp-host.toml")

    tools, checked = home.run("tools", "--json", *config), home.run("config", "check", *config)

    assert [tool["name"] for tool in tools.json] == ["slow_shout"]
    assert (checked.code, checked.out.splitlines()) == (
        1,
        ["endless: importing endless_pack_plugin took longer than 2 s"],
    )


def test_packs_and_doctor_say_the_same_of_the_same_state(home: Home) -> None:
    home.add_pack("broken", "raise RuntimeError('at once')")
    home.write(
        '[packs.desk]\nsettings = { mood = "busy" }\n[packs.broken]\n[packs.away]\n'
        "[packs.off]\nenabled = false\n"
    )
    asked = [
        home.run(command, "--json", "--config", "mcp-host.toml") for command in ("packs", "doctor")
    ]
    shown = [home.run(command, "--config", "mcp-host.toml").out for command in ("packs", "doctor")]

    packs, doctor = ({pack["name"]: pack for pack in one.json["packs"]} for one in asked)
    assert (packs["desk"]["state"], doctor["desk"]["state"]) == ("checked", "degraded")
    for name in ("broken", "away", "off"):
        told = [
            {k: of[name].get(k) for k in ("state", "code", "reason", "remedy")}
            for of in (packs, doctor)
        ]
        assert told[0] == told[1]
        for page in shown:
            assert told[0]["state"] in page
            assert told[0]["reason"][:40] in page
