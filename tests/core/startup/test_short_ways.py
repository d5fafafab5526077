"""What stands in for a library before a client's first answer agrees with that library."""

import argparse
import contextlib
import io
import os
from pathlib import Path
from unittest.mock import patch

import platformdirs
import pytest
from hypothesis import given, strategies as st
from mcp_host.cli.serve import parser
from mcp_host.settings.loading import Settings
from mcp_host.settings.overrides import overridden
from mcp_host.startup import folders
from mcp_host.startup.options import Options, identity, quickly
from mcp_host.startup.trust import absolute, named_file

OPTIONS = "--transport --stdio --host --port --root --config --no-catalogue --log-level --conf"
ODD = "--log-format --root=a --transport=http -h -- stdio http a 8000 debug json -1 ~/x.toml ü"
WORDS = st.sampled_from([*OPTIONS.split(), *ODD.split(), "", "a b"])
PLACES = st.none() | st.sampled_from(["", "/", "/a", "/a/b/", "a", "./a", "~", "~/a", " /a", "/ü"])


VARIABLES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ANDROID_ROOT")


def by_argparse(arguments: list[str]) -> argparse.Namespace | None:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return parser().parse_args(arguments)
    except SystemExit:
        return None


@given(st.lists(WORDS, max_size=5))
def test_a_command_line_that_is_read_quickly_says_what_argparse_reads(words: list[str]) -> None:
    quick, whole = quickly(words, "stdio"), by_argparse(words)

    assert quick is None or (whole is not None and quick == Options(**vars(whole)))


@pytest.mark.parametrize(
    "words",
    [[], ["--config", "a.toml"], ["--root", ".", "--log-level", "debug"], ["--stdio"]],
)
def test_what_clients_are_set_up_with_is_read_quickly(words: list[str]) -> None:
    assert quickly(words, "stdio") is not None


@given(st.fixed_dictionaries(dict.fromkeys(VARIABLES, PLACES)))
def test_the_users_folders_are_those_of_platformdirs(given: dict[str, str | None]) -> None:
    others = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    set_to = {name: value for name, value in given.items() if value is not None}

    with patch.dict(os.environ, others | set_to, clear=True):
        assert folders.cache() == platformdirs.user_cache_dir("mcp-host")
        assert folders.config() == platformdirs.user_config_dir("mcp-host")
        assert folders.data() == platformdirs.user_data_dir("mcp-host")


@pytest.mark.parametrize("root", ["~/project", "./project", "/project"])
def test_the_project_of_a_catalogue_is_the_one_that_is_served(root: str) -> None:
    options = Options("stdio", root=root)
    found = identity("mcp-host", None, options)

    assert found is not None
    assert found.root == str(overridden(Settings(), options).host.root)


@given(
    st.sampled_from(["", "~/", "/", "./"]),
    st.lists(st.sampled_from(["a", "..", ".", "ü", "b/", "c//d"]), min_size=1).map("/".join),
)
def test_a_path_is_made_absolute_as_pathlib_does(start: str, rest: str) -> None:
    path = start + rest

    assert named_file(path) == str(Path(path).expanduser().absolute())
    assert absolute(path) == str(Path(path).absolute())
