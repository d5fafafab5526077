"""Packs whose names are long, or those of another."""

from types import SimpleNamespace

from mcp_host import hookimpl, tool
from sample_pack import plugin


class _Pack(SimpleNamespace):
    __hash__ = object.__hash__


@tool
def short() -> str:
    """Have a name of any length."""
    return "short"


def _named(name):
    return _Pack(mcp_host_tools=hookimpl(lambda: [short.replace(name=name)]))


same = _Pack(**{name: hook for name, hook in vars(plugin).items() if name[:9] == "mcp_host_"})
long = _named("n" * 17)
endless = _named("n" * 40)
