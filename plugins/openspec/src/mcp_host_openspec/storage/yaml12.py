"""YAML as version 1.2 reads it: only true and false are booleans, dates are strings.

PyYAML reads version 1.1; this loader has the core schema's scalars instead, and refuses a key
given twice.
"""

import re
from typing import Any, Final

import yaml

from ..errors import InvalidYamlError

_SCALARS: Final = (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)\Z", ("~", "n", "N", "")),
    ("int", r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z", "-+0123456789"),
    (
        "float",
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z",
        "-+0123456789.",
    ),
)


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Which tag a plain scalar gets, by its first character."""
    resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, source, firsts in _SCALARS:
        for first in firsts:
            entry = (f"tag:yaml.org,2002:{name}", re.compile(source))
            resolvers.setdefault(first, []).append(entry)
    return resolvers


class _Dumper(yaml.SafeDumper):
    """Texts are quoted where version 1.2 would read them as something else."""

    yaml_implicit_resolvers = _resolvers()


class _Loader(yaml.SafeLoader):
    """The core schema of YAML 1.2."""

    yaml_implicit_resolvers = _resolvers()

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [repr(self.construct_object(key, deep=True)) for key, _ in node.value]
        if len(set(keys)) != len(keys):
            raise yaml.YAMLError("a key is given twice")
        return super().construct_mapping(node, deep)


def dump(facts: dict[str, object]) -> str:
    """Keys and values as YAML, in their order."""
    return yaml.dump(facts, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=80)


def load(text: str) -> Any:
    """Read one YAML document; None for an empty one."""
    try:
        return yaml.load(text.removeprefix("\ufeff"), _Loader)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidYamlError(str(error)) from error
