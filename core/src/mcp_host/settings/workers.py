"""Keys of [packs.X] that choose a worker of another distribution, by entry points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..startup.dataclass import dataclass
from .tables import PackTable

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "mcp_host.workers"
BESIDE = "mcp_host.worker_keys"
"""Entry points by which a distribution names further keys, which stand beside its workers' own."""


@dataclass(frozen=True)
class WorkerChoice:
    """What stands in a pack's table at a worker's key, and the entry point that the key names.

    `beside` is what stands at further keys of the same distribution.
    """

    key: str
    value: Any
    point: metadata.EntryPoint
    beside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, Any]:
        """All that the table says to the worker."""
        return {self.key: self.value, **self.beside}


def without_workers(
    data: Mapping[str, Any],
) -> tuple[Mapping[str, Any], dict[str, WorkerChoice]]:
    """Return a file's data without the keys that choose a worker, and the choices by pack.

    What is installed is looked through only where a key is not one of the host's own.
    """
    packs = data.get("packs")
    if not isinstance(packs, Mapping):
        return data, {}
    unknown = {
        name: [key for key in table if key not in PackTable.model_fields]
        for name, table in packs.items()
        if isinstance(table, Mapping)
    }
    if not any(unknown.values()):
        return data, {}
    chosen: dict[str, WorkerChoice] = {}
    rest = dict(packs)
    for name, keys in unknown.items():
        points = {key: found for key in keys if (found := _point(key)) is not None}
        if len(points) > 1:
            both = " and ".join(sorted(points))
            raise SettingsError(f"packs.{name}: one worker must be chosen, not {both}")
        for key, point in points.items():
            table = packs[name]
            beside = {each: table[each] for each in _keys_beside(point) if each in table}
            chosen[name] = WorkerChoice(key, table[key], point, beside)
            rest[name] = {k: v for k, v in table.items() if k != key and k not in beside}
            for other in ("file", "python"):
                if other in rest[name]:
                    raise SettingsError(f"packs.{name}: {other} must not stand beside {key}")
    return {**data, "packs": rest}, chosen


def _point(key: str) -> metadata.EntryPoint | None:
    found = {_distribution(point): point for point in _points(GROUP) if point.name == key}
    if len(found) > 1:
        both = " and ".join(sorted(found))
        raise SettingsError(f"{both} both bring the worker '{key}'; uninstall one of them")
    return next(iter(found.values()), None)


def keys_beside_workers() -> list[str]:
    """Return the keys that may stand beside one that chooses a worker."""
    return sorted({point.name for point in _points(BESIDE)})


def _keys_beside(worker: metadata.EntryPoint) -> Iterable[str]:
    """The further keys of the distribution that brings a worker."""
    whose = _distribution(worker)
    return [each.name for each in _points(BESIDE) if _distribution(each) == whose]


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else ""


def _points(group: str) -> metadata.EntryPoints:
    from importlib import metadata  # a file without such keys is read sooner without

    return metadata.entry_points(group=group)
