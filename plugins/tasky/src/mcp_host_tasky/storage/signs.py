"""Whether a project may have another plan by now than it had."""

from dataclasses import dataclass
from pathlib import Path

from .home import Home


@dataclass(frozen=True, slots=True)
class Signs:
    """The files that say which plan a folder has, and when each was last changed."""

    files: tuple[Path, ...]
    changed_at: tuple[int, ...]

    @classmethod
    def of(cls, home: Home, folder: Path) -> "Signs":
        files = tuple(home.watched(folder))
        return cls(files, _changed_at(files))

    def are_same(self) -> bool:
        """Whether nobody made, moved or reconfigured a project since; else it may be another."""
        return self.changed_at == _changed_at(self.files)


def _changed_at(files: tuple[Path, ...]) -> tuple[int, ...]:
    return tuple(map(_one_changed_at, files))


def _one_changed_at(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
