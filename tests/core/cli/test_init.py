"""`mcp-host init`: which packs a new settings file enables, and what it leaves alone."""

import pytest
from core_home import Home


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
