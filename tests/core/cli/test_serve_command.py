"""`mcp-host serve`: exit codes and addresses."""

import json
import socket

from core_desk import DESK, LOUD, OPENS
from core_home import Home


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
