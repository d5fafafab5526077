"""What is wrong with a mounted server's settings is said with what is right."""

import pytest
from mcp_host import SettingsError
from mcp_host_mount.settings import check

WRONG = [
    (
        {"command": "npx -y files"},
        'packs.files.command: command must be a list of words, as in command = ["npx", "-y", ',
    ),
    ({"url": "tracker.example.org"}, "packs.files.url: url must begin with https:// or http://"),
    ({"url": "https://me:word@example.org"}, "packs.files.url: url must not hold a password"),
    ({"server": "./server.py"}, "packs.files.server: server must be 'module:object'"),
    ({"url": "https://example.org", "cwd": "x"}, "packs.files: cwd must not stand beside url"),
    ({"command": ["x"], "env": "A=b"}, "packs.files.env: must be a table"),
    ({"command": ["x"], "env": {"A": [1]}}, "packs.files.env.A: must be a text, a number, true"),
    ({"command": ["x", 5]}, "packs.files.command.1: must be a text"),
    ({"command": []}, "packs.files.command: must not be empty"),
    ({"command": ["x"], "allow": ["all"]}, "packs.files.allow.0: must be 'sampling' or 'roots'"),
    ({"url": "https://e.org", "oauth": {"prt": 1}}, "packs.files.oauth.prt: unknown key; known "),
    ({"command": ["x"], "headers": {}}, "packs.files: headers must not stand beside command"),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_what_is_wrong_is_said_with_what_is_right(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        check("files", next(iter(given)), given)

    assert str(error.value).startswith(said)
