"""The schema of the settings file agrees with its loader."""

from collections.abc import Callable
from typing import Any

import pytest
from core_home import PACKS, Home
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from mcp_host import Standalone
from mcp_host.errors import SettingsError
from mcp_host.settings.loading import parse
from mcp_host.testing import hosted

ENVIRONMENT = {"NUMBER": "8000", "LONG": "x" * 40}
PLAIN: list[Any] = [
    True,
    False,
    0,
    5,
    -1,
    70_000,
    0.5,
    "",
    "desk",
    "8000",
    "info",
    "json",
    "x" * 40,
    [],
    ["a*"],
    ["*", "desk:read"],
    [1],
    {},
    {"a": 1},
]
SECRET: list[Any] = [
    {"env": "NUMBER"},
    {"env": "LONG"},
    {"env": "UNSET"},
    {"env": "UNSET", "default": 5},
    {"env": "UNSET", "default": [1]},
    {"file": "secret.txt"},
    {"env": ""},
    [{"env": "LONG"}],
]
HOST = ["root", "timeout", "max_concurrency", "max_message_bytes", "state_key", "log_level"]
HTTP = ["host", "port", "allow_unauthenticated", "allowed_hosts", "stateless", "nonsense"]
PACK = ["enabled", "distribution", "prefix", "timeout", "include", "read_only", "settings"]
TOKEN = ["token", "subject", "scopes"]


def tables(values: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Settings files, right and wrong, whose values are of these."""

    def table(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
        return st.dictionaries(st.sampled_from(keys), st.sampled_from(values), max_size=2)

    tools = st.fixed_dictionaries({}, optional={"tools": st.builds(dict, hold=table(["timeout"]))})
    pack = st.builds(lambda a, b: {**a, **b}, table(PACK), tools)
    names = st.sampled_from(["nobody", "env", "file", "Bad", "host", "a b"])
    tokens = st.fixed_dictionaries({}, optional={"tokens": st.lists(table(TOKEN), max_size=1)})
    return st.fixed_dictionaries(
        {},
        optional={
            "host": table(HOST),
            "http": st.builds(lambda a, b: {**a, **b}, table(HTTP), tokens),
            "packs": st.dictionaries(names, pack, max_size=2),
            "nonsense": st.sampled_from(values),
        },
    )


@pytest.fixture(scope="module")
def fits(make_home: Callable[[], Home]) -> Callable[[Any], bool]:
    """Whether the schema that `mcp-host config schema` prints accepts a file."""
    schema = make_home().run("config", "schema", "--all").json
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema).is_valid


def loads(data: Any) -> bool:
    try:
        parse(data, PACKS / "mcp-host.toml", ENVIRONMENT)
    except SettingsError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(data=tables(PLAIN))
def test_the_schema_accepts_a_file_exactly_when_the_loader_does(
    fits: Callable[[Any], bool], data: Any
) -> None:
    assert fits(data) == loads(data)


@settings(max_examples=300, deadline=None)
@given(data=tables([*SECRET, 5, "x" * 40]))
def test_the_schema_accepts_every_file_with_secrets_that_the_loader_accepts(
    fits: Callable[[Any], bool], data: Any
) -> None:
    if loads(data):
        assert fits(data)


def test_the_schema_knows_the_settings_of_installed_packs(
    fits: Callable[[Any], bool],
) -> None:
    def of_desk(**own: Any) -> dict[str, Any]:
        return {"packs": {"desk": {"settings": own}}}

    assert fits(of_desk(mood="busy", key={"env": "KEY"}, limits={"rows": 3}))
    assert not fits(of_desk(mood="sad"))
    assert not fits(of_desk(moood="busy"))
    assert not fits(of_desk(limits={"rows": "many"}))


async def test_a_tools_timeout_of_the_settings_comes_before_the_packs_and_the_hosts() -> None:
    tables = {
        "host": {"timeout": 20},
        "packs": {"desk": {"timeout": 10, "tools": {"hold": {"timeout": 0.05}}}},
    }
    async with hosted({"desk": "desk_pack.plugin"}, tables, root=PACKS) as host:
        error = await host.error("desk_hold", gate="never")

    assert error["code"] == "timeout"
    assert "0.05 s" in error["error"]
    assert error["retryable"] is False
    assert error["details"] == {"outcome": "unknown"}


def test_alone_a_pack_takes_its_file_before_its_variables_and_the_rest_of_both(
    home: Home,
) -> None:
    path = home.write(
        """
        [http]
        port = 81
        [packs.desk.settings]
        env = "work"
        key = { env = "OTHER_KEY" }
        [packs.sample.settings]
        key = { env = "NOBODY_SET_IT" }
        """
    )
    alone = Standalone(
        pack="desk",
        module="desk_pack.plugin",
        server_name="desk",
        version="1",
        program="desk-mcp",
        tables=lambda env: {
            "http": {"port": 80, "host": "127.0.0.1"},
            "packs": {
                "desk": {"timeout": 3, "settings": {"key": {"env": "DESK_KEY"}, "mood": "busy"}}
            },
        },
    )
    env = {"OTHER_KEY": "of the file", "DESK_KEY": "of the variable"}

    with_file, without = alone.settings(path, env), alone.settings(None, env)
    by_variable = alone.settings(None, {**env, "MCP_HOST_CONFIG": str(path)})

    assert with_file.packs["desk"].settings == by_variable.packs["desk"].settings
    assert with_file.packs["desk"].settings == {"env": "work", "key": "of the file", "mood": "busy"}
    assert (with_file.packs["desk"].timeout, with_file.http.port) == (3, 81)
    assert list(with_file.packs) == ["desk"]
    assert without.packs["desk"].settings == {"key": "of the variable", "mood": "busy"}
    assert without.http.port == 80
    assert without.shown()["packs"]["desk"]["settings"]["key"] == "********"
