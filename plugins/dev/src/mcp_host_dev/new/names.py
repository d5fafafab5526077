"""The names of a new pack, and whether they can be had."""

import keyword
import re
from dataclasses import dataclass
from importlib import metadata
from typing import Self

from mcp_host import SettingsError

PACKS = "mcp_host.packs"
PACK = re.compile(r"[a-z][a-z0-9_]{0,31}")
DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
RESERVED = "host"


@dataclass(frozen=True)
class Names:
    """What a pack is called: by settings and tools, by pip, and by `import`."""

    pack: str
    distribution: str
    module: str

    @classmethod
    def of(cls, pack: str, distribution: str | None = None) -> Self:
        """Make all names of one; `SettingsError` says what a name must be, and proposes one."""
        if not PACK.fullmatch(pack):
            raise SettingsError(
                f"the pack's name must be a lower-case letter, then up to 31 lower-case letters, "
                f"digits and underscores, not {pack!r}{_proposed(pack)}"
            )
        if pack == RESERVED:
            raise SettingsError(f"the name {pack!r} is the host's own; choose another")
        distribution = distribution or f"mcp-host-{pack.strip('_').replace('_', '-')}"
        if not DISTRIBUTION.fullmatch(distribution):
            raise SettingsError(
                f"the distribution's name must be letters, digits, dots, dashes and underscores, "
                f"with a letter or digit at both ends, not {distribution!r}"
            )
        module = re.sub(r"[-.]+", "_", distribution).lower()
        if not module.isidentifier() or keyword.iskeyword(module):
            raise SettingsError(
                f"the distribution's name must make a name for `import`, which {module!r} is not"
            )
        return cls(pack, distribution, module)


def _proposed(pack: str) -> str:
    near = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", pack.lower())).strip("_")
    near = re.sub(r"^[0-9_]+", "", near)[:32]
    return f"; {near!r} would do" if PACK.fullmatch(near) and near != RESERVED else ""


def check_free(names: Names) -> None:
    """Raise `SettingsError` where a name is that of something installed here."""
    for point in metadata.entry_points(group=PACKS, name=names.pack):
        owner = point.dist.name if point.dist is not None else "something"
        raise SettingsError(
            f"a pack {names.pack!r} is installed already, by {owner}: the two could not be "
            "enabled together; choose another name"
        )
    try:
        version = metadata.version(names.distribution)
    except metadata.PackageNotFoundError:
        return
    raise SettingsError(
        f"{names.distribution} {version} is installed already; choose another with --distribution"
    )
