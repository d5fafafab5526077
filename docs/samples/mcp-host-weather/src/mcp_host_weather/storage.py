"""How readings are kept: one JSON file, replaced as a whole."""

from pathlib import Path

from pydantic import TypeAdapter

from .model import Reading

_READINGS = TypeAdapter(dict[str, Reading])


class ReadingFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> dict[str, Reading]:
        """The last reading of each city; none where there is no file yet."""
        if not self._path.exists():
            return {}
        return _READINGS.validate_json(self._path.read_bytes())

    def save(self, readings: dict[str, Reading]) -> None:
        """Replace the file."""
        new = self._path.with_suffix(".new")
        new.write_bytes(_READINGS.dump_json(readings, indent=2))
        new.replace(self._path)
