"""`mcp-host config`: what the settings are, and whether they are right."""

import tomllib

from core_home import Home


def test_show_gives_the_file_as_it_is_and_resolved_what_it_results_in(home: Home) -> None:
    text = '# mine\n[http]\nport = { env = "PORT", default = 81 }\n\n[packs.desk]\ntimeout = 3\n'
    home.write(text)
    config = ("--config", "mcp-host.toml")

    plain = home.run("config", "show", *config)
    resolved = home.run("config", "show", "--resolved", *config)
    as_json = home.run("config", "show", "--resolved", "--json", *config)

    assert plain.out == text
    found = tomllib.loads(resolved.out)
    assert found["http"]["port"] == "********"
    assert found["host"]["timeout"] == 30
    assert found["packs"]["desk"]["timeout"] == 3
    assert as_json.json["packs"] == {"desk": {**as_json.json["packs"]["desk"], "timeout": 3}}
    assert (plain.code, resolved.code, as_json.code) == (0, 0, 0)


def test_check_tells_what_is_wrong_with_the_file_or_with_a_pack_in_it(home: Home) -> None:
    config = ("--config", "mcp-host.toml")
    home.write('[packs.desk.settings]\nmood = "calm"\n')
    right, right_json = (
        home.run("config", "check", *config),
        home.run("config", "check", "--json", *config),
    )
    home.write('[packs.desk.settings]\nmood = "sad"\n[packs.nobody_has_it]\n')
    wrong = home.run("config", "check", "--json", *config)
    home.write("[packs.desk]\nenabeld = true\n")
    broken = home.run("config", "check", *config)

    assert (right.code, wrong.code, broken.code) == (0, 1, 1)
    assert right_json.json["valid"] is True
    assert wrong.json["valid"] is False
    of_desk, of_nobody = wrong.json["problems"]
    assert "packs.desk.settings.mood: Input should be 'calm' or 'busy'" in of_desk
    assert "no installed distribution offers a pack 'nobody_has_it'" in of_nobody
    assert "packs.desk.enabeld: unknown key; did you mean 'enabled'?" in broken.err
    assert broken.out == ""


def test_without_a_file_the_commands_say_how_to_make_one(home: Home) -> None:
    shown, missing = home.run("config", "show"), home.run("config", "show", "--config", "no.toml")

    assert (shown.code, missing.code) == (1, 1)
    assert "make one with: mcp-host init" in shown.err
    assert "no.toml: there is no such file" in missing.err
