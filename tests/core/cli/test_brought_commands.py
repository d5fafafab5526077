"""Commands that other distributions bring, by the entry points `mcp_host.commands`."""

import pytest
from core_home import Home
from mcp_host.cli.app import app
from mcp_host.cli.commands import EXTRAS, GROUP, OWN
from typer.testing import CliRunner

WATER = """
from typing import Annotated
import typer
from mcp_host import SettingsError

def water(plant: str, litres: Annotated[float, typer.Option(help="How much.")] = 1.0) -> None:
    \"\"\"Water a plant.\"\"\"
    if plant == "cactus":
        raise SettingsError("a cactus must stay dry")
    print(f"{plant} got {litres} l")

garden = typer.Typer(help="See to the garden.")

@garden.command()
def weed() -> None:
    \"\"\"Weed.\"\"\"
    print("weeded")

@garden.command()
def rake() -> None:
    \"\"\"Rake.\"\"\"
    print("raked")

nothing = 5
"""


def test_a_command_that_is_installed_with_another_distribution_is_one_of_the_hosts(
    home: Home,
) -> None:
    home.install("gardening", GROUP, "water", WATER, "water")

    done = home.run("water", "rose", "--litres", "2.5")
    told, told_all = home.run("water", "--help"), home.run("--help")
    refused, misused = home.run("water", "cactus"), home.run("water")

    assert (done.code, done.out) == (0, "rose got 2.5 l\n")
    assert "How much." in told.out
    assert "Usage: mcp-host water" in told.out
    assert "Water a plant." in told_all.out
    assert (refused.code, refused.err) == (1, "error: a cactus must stay dry\n")
    assert misused.code == 2


def test_a_distribution_may_bring_a_group_of_commands(home: Home) -> None:
    home.install("gardening", GROUP, "garden", WATER, "garden")

    assert home.run("garden", "rake").out == "raked\n"
    assert "See to the garden." in home.run("--help").out


def test_what_is_brought_takes_the_place_of_no_command_of_the_host(home: Home) -> None:
    home.install("taker", GROUP, "packs", "def packs() -> None: print('taken')", "packs")

    assert "taken" not in home.run("packs").out


def test_the_hosts_own_commands_do_not_load_what_is_brought(home: Home) -> None:
    home.install("bomb", GROUP, "bomb", "raise SystemExit('loaded')", "bomb")

    listed = home.run("tools", env={"PYTHONPROFILEIMPORTTIME": "1"})

    assert "bomb" not in listed.err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise OSError('out of order')", "cannot be loaded: OSError: out of order"),
        ("raise SystemExit(4)", "cannot be loaded: SystemExit: 4"),
        ("water = 5", "must be a function or a typer.Typer, not int"),
    ],
)
def test_a_command_that_cannot_be_had_says_why_and_hides_no_other(
    home: Home, source: str, said: str
) -> None:
    home.install("gardening", GROUP, "water", source, "water")

    ended, told = home.run("water", "rose", "--litres", "1"), home.run("--help")

    assert ended.code == 1
    assert ended.err.startswith("error: the command 'water' of gardening ")
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert told.code == 0
    assert "water" in told.out
    assert "doctor" in told.out


def test_a_name_that_two_distributions_bring_is_refused_with_both_named(home: Home) -> None:
    home.install("gardening", GROUP, "water", WATER, "water")
    home.install("plumbing", GROUP, "water", WATER, "water")

    ended = home.run("water", "rose")

    assert ended.code == 1
    assert ended.err == (
        "error: gardening and plumbing both bring a command 'water': uninstall one of them\n"
    )


def test_a_command_that_an_extra_would_bring_is_named_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(EXTRAS, "sing", "choir")  # all that there is may be installed here

    ended = CliRunner().invoke(app, ["sing", "x"], env={"COLUMNS": "200"})

    assert ended.exit_code == 2
    assert 'pip install "mcp-host[choir]"' in ended.output


def test_no_command_is_both_the_hosts_own_and_an_extras() -> None:
    assert not OWN.keys() & EXTRAS.keys()
