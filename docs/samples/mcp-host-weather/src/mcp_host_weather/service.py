"""What can be done with readings."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

from .errors import UnknownCity
from .model import Reading
from .storage import ReadingFile


class Readings:
    """The last reading of each city; `changed` hears of each city that has a new one."""

    def __init__(self, file: ReadingFile, changed: Callable[[str], None]) -> None:
        self._file, self._changed = file, changed
        self._readings = file.load()
        self._lock = Lock()  # tools that are plain functions run in threads

    def record(self, city: str, celsius: float) -> Reading:
        reading = Reading(city, celsius, datetime.now(UTC))
        with self._lock:
            readings = {**self._readings, city: reading}
            self._file.save(readings)
            self._readings = readings
        self._changed(city)
        return reading

    def latest(self, city: str) -> Reading:
        if city not in self._readings:
            raise UnknownCity(city, self._readings)
        return self._readings[city]

    def cities(self) -> list[str]:
        return sorted(self._readings)
