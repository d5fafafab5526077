"""mcp-host.toml: what may stand in it, whose fault an error is, and who sees its secrets."""

import json
from pathlib import Path

import pytest
from core_home import PACKS, Home
from mcp_host.errors import SettingsError
from mcp_host.settings.loading import parse

KEY = 'corn"er\\of åpril'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[host]\ntimout = 3", "host.timout: unknown key; did you mean 'timeout'?"),
        ("[htpp]\nport = 3", "htpp: unknown key; did you mean 'http'?"),
        (
            '[[http.tokens]]\nsubjet = "ann"\ntoken = { env = "T" }',
            "http.tokens[0].subjet: unknown key; did you mean 'subject'?",
        ),
        (
            "[packs.desk.tools.hold]\ntimeuot = 3",
            "packs.desk.tools.hold.timeuot: unknown key; did you mean 'timeout'?",
        ),
        (
            '[packs.desk]\nargs = ["x"]',
            'packs.desk.args: unknown key; arguments stand in command, as in command = ["npx", ',
        ),
        ("[packs.desk]\nqqq = 1", "packs.desk.qqq: unknown key; known are enabled, required"),
        ("[packs.desk]\nqqq = 1", ", settings, command, url, server, allow, cwd, env, headers, "),
        ("[packs.desk]\ncomand = 1", "packs.desk.comand: unknown key; did you mean 'command'?"),
        ("[packs.desk]\nenv = {}", "packs.desk.env: env must stand beside one of command, url, "),
        ("[packs.desk]\nroot = '.'", "; the pack's own settings stand in [packs.desk.settings]"),
        ("[packs.Desk]\n", "packs.Desk: String should match pattern"),
        ("[packs.host]\n", "packs.host: this name is the host's own"),
        ("[host]\nroot = 3", "host.root: a path must be a string"),
        ("[host]\ntimeout = true", "host.timeout: Input should be a valid number"),
        ('[http]\nport = "8000"', "http.port: Input should be a valid integer"),
        ('[http]\nhost = { env = "NOBODY_SET_IT" }', "NOBODY_SET_IT is not set"),
        ('[http]\nhost = { file = "nowhere.txt" }', "nowhere.txt: No such file"),
        ('[host]\nroot = "~nobody-of-that-name/x"', "host.root: "),
        ('[http]\nhost = { file = "~nobody-of-that-name/x" }', "http.host: "),
        ('[http]\nhost = { file = "\\u0000" }', "http.host: cannot read"),
        (
            '[[http.tokens]]\nsubject = "ann"\ntoken = { env = "T" }\nscopes = ["desk:*"]',
            "http.tokens[0].scopes[0]: a scope must be PACK:read, PACK:write or *, not 'desk:*'",
        ),
        (
            '[http.auth]\nissuer = "http://id.example.org"\naudience = "a"',
            "http.auth[0].issuer: it must be an https:// URL, or http:// of this machine",
        ),
        (
            '[http.auth]\nissuer = "https://a.example"\naudience = "a"\n'
            'jwks_url = "http://localhost:80@b.example/keys"',
            "http.auth[0].jwks_url: it must be an https:// URL, or http:// of this machine, not",
        ),
        (
            '[http.auth]\nissuer = "https://a.example"\naudience = "a"\nalgorithms = ["HS256"]',
            "http.auth[0].algorithms[0]: Input should be 'RS256'",
        ),
        (
            '[[http.auth]]\nissuer = "https://a.example"\naudience = "a"\nprefix = "a:"\n'
            '[[http.auth]]\nissuer = "https://b.example"\naudience = "a"\nprefix = "a:b"',
            "http: auth: prefix 'a:b' must not begin with prefix 'a:'",
        ),
        (
            '[http.auth]\nissuer = "https://a.example"\naudience = "a"\n'
            '[[http.tokens]]\nsubject = "ann"\ntoken = { env = "T" }',
            "http: auth: prefix must be set",
        ),
        (
            '[http.auth]\nissuer = "https://a.example"\naudience = "a"\nprefix = "a:"\n'
            '[[http.tokens]]\nsubject = "a:ann"\ntoken = { env = "T" }',
            "http: tokens: subject 'a:ann' must not begin with 'a:', the prefix of an issuer",
        ),
        (f'[host]\nstate_key = "{"x" * 40}"', "host.state_key: write no state key here"),
        (
            '[[http.tokens]]\nsubject = "ann"\n'
            'token = { env = "U", default = "written-all-the-same" }',
            "http.tokens[0].token: write no token here",
        ),
        (
            '[[http.tokens]]\nsubject = "ann"\ntoken = { env = "T" }\n'
            '[[http.tokens]]\nsubject = "bob"\ntoken = { env = "T" }',
            "two subjects have the same token",
        ),
        ("[host\n", "is not valid TOML"),
    ],
)
def test_an_error_names_the_file_the_key_and_what_is_right(
    home: Home, text: str, said: str
) -> None:
    from mcp_host.settings.loading import load

    path = home.write(text)

    with pytest.raises(SettingsError) as error:
        load(path, {"T": "x" * 16})

    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_a_pack_whose_settings_are_wrong_fails_alone_and_doctor_names_the_key(
    home: Home,
) -> None:
    home.packs.append(PACKS / "sample")
    home.write(
        """
        [packs.sample]
        [packs.desk.settings]
        moood = "calm"
        """
    )
    wrong_key = home.run("doctor", "--json", "--config", "mcp-host.toml")
    home.write(
        """
        [packs.sample]
        [packs.desk.settings]
        key = { env = "NOBODY_SET_IT" }
        """
    )
    unset = home.run("config", "check", "--config", "mcp-host.toml")
    works = home.run("call", "sample_echo", "text=hi", "--json", "--config", "mcp-host.toml")

    states = {pack["name"]: pack for pack in wrong_key.json["packs"]}
    assert wrong_key.code == 1
    assert states["sample"]["state"] == "ready"
    assert states["desk"]["code"] == "settings_invalid"
    assert "settings.moood: unknown key; did you mean 'mood'?" in states["desk"]["reason"]
    assert "packs.desk.settings.key: the environment variable NOBODY_SET_IT" in unset.out
    assert unset.code == 1
    assert works.code == 0
    assert works.json["structuredContent"]["text"] == "hi"


async def test_a_secret_is_masked_wherever_the_host_shows_what_it_knows(home: Home) -> None:
    home.write(
        """
        [http]
        tokens = [{ token = { file = "token.txt" }, subject = "ann", scopes = ["*"] }]
        [packs.desk.settings]
        mood = "busy"
        key = { env = "DESK_KEY" }
        """
    )
    (home.project / "token.txt").write_text("a-token-of-ann-and-nobody-else\n")
    shown = [
        home.run(*command, "--config", "mcp-host.toml", env={"DESK_KEY": KEY})
        for command in (
            ("config", "show", "--resolved"),
            ("config", "show", "--resolved", "--json"),
            ("doctor",),
            ("call", "desk_leak", "--json"),
            ("call", "desk_crash"),
            ("read", "desk://papers/drawer", "--json"),
        )
    ]
    options = ("--config", "mcp-host.toml", "--log-level", "debug", "--log-format", "json")
    async with home.stdio(*options, env={"DESK_KEY": KEY}) as client:
        said = [
            await client.call("desk_leak"),
            await client.call("desk_crash"),
            await client.raw_request("resources/read", {"uri": "desk://papers/drawer"}),
            await client.raw_request(
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": "desk_tidy"},
                    "argument": {"name": "paper", "value": "leak"},
                },
            ),
            await client.read("host://packs"),
        ]
        await client.end_input()
        log = [json.loads(line) for line in client.stderr.splitlines() if line.startswith("{")]

    kept = [path for path in home.folder.rglob("*") if path.is_file()]
    assert kept  # what the host keeps for its next start
    assert not any(b"corn" in path.read_bytes() for path in kept)
    told = "\n".join(f"{one.out}{one.err}" for one in shown) + repr(said) + repr(log)
    assert told.count("********") > 10  # it was there, in all these places
    for written in (KEY, json.dumps(KEY)[1:-1], json.dumps(KEY, ensure_ascii=False)[1:-1]):
        assert written not in told
    assert "a-token-of-ann" not in told
    assert "corn" not in told
    assert any("traceback" in line for line in log)
    assert "no time for ********" in repr(said[-1])
    assert shown[0].out.count('"********"') == 2


def test_a_token_written_in_the_file_is_refused_with_the_ways_to_keep_it(home: Home) -> None:
    home.write(
        '[[http.tokens]]\ntoken = "written-where-everybody-reads"\nsubject = "ann"\nscopes = []'
    )

    refused = home.run("serve", "--config", "mcp-host.toml", "--transport", "http")

    assert refused.code == 1
    assert "http.tokens[0].token: write no token here" in refused.err
    assert "env" in refused.err
    assert "file" in refused.err
    assert "written-where" not in refused.err


def test_texts_of_the_environment_become_numbers_and_a_settings_key_called_env_is_no_secret(
    tmp_path: Path,
) -> None:
    found = parse(
        {
            "host": {"timeout": {"env": "SECONDS"}, "root": {"env": "ROOT"}},
            "http": {"port": {"env": "UNSET", "default": 81}, "stateless": {"env": "YES"}},
            "packs": {
                "env": {"settings": {"env": "prod"}},
                "desk": {"settings": {"env": "prod", "file": {"env": "SECONDS"}}},
            },
        },
        tmp_path / "mcp-host.toml",
        {"SECONDS": "2.5", "YES": "true", "ROOT": "here"},
    )

    assert (found.host.timeout, found.http.port, found.http.stateless) == (2.5, 81, True)
    assert found.host.root == tmp_path / "here"
    assert found.packs["env"].settings == {"env": "prod"}
    assert found.packs["desk"].settings == {"env": "prod", "file": "2.5"}
    assert found.shown()["packs"]["desk"]["settings"] == {"env": "prod", "file": "********"}


def test_relative_paths_start_at_the_file_wherever_in_the_settings_they_stand(
    home: Home,
) -> None:
    home.write(
        """
        [host]
        root = "work"
        [packs.desk.settings]
        papers = "in/papers"
        shelves = ["shelf", "/abs"]
        limits = { scratch = "scratch" }
        """,
        "etc/mcp-host.toml",
    )

    path = home.project / "etc/mcp-host.toml"
    seen = home.run("call", "desk_settings_seen", "--json", "--config", str(path), cwd=home.folder)

    etc = home.project / "etc"
    assert seen.json["structuredContent"] == {
        "root": str(etc / "work"),
        "papers": str(etc / "in/papers"),
        "shelves": [str(etc / "shelf"), "/abs"],
        "scratch": str(etc / "scratch"),
        "env": "home",
        "key_length": 0,
    }


def test_a_project_is_the_packs_own_root_then_the_hosts_then_where_one_is_but_never_home(
    home: Home,
) -> None:
    path = str(home.write("[packs.desk]\n"))

    def root(cwd: Path) -> str:
        seen = home.run("call", "desk_settings_seen", "--json", "--config", path, cwd=cwd)
        return str(seen.json.get("structuredContent", seen.json).get("root") or seen.out)

    of_folder = root(home.project)
    of_home, of_nothing = root(home.folder), root(Path("/"))
    home.write('[host]\nroot = "."\n[packs.desk]\n')
    of_host = root(home.folder)
    home.write('[host]\nroot = "."\n[packs.desk.settings]\nroot = "own"\n')
    of_pack = root(home.folder)

    assert of_folder == of_host == str(home.project)
    assert of_pack == str(home.project / "own")
    for refused in (of_home, of_nothing):
        assert "root in [host] or in [packs.desk.settings]" in refused
        assert "in the project's folder or with --root FOLDER" in refused


async def test_a_root_given_on_the_command_line_comes_before_that_of_the_file(
    home: Home,
) -> None:
    home.write('[host]\nroot = "of-the-file"\n[packs.desk]\n')

    async with home.stdio("--config", "mcp-host.toml", "--root", "given") as client:
        seen = await client.value("desk_settings_seen")

    assert seen["root"] == str(home.project / "given")
