"""Logs of the warm host: a session's go to its own standard error, all others to a file."""

from __future__ import annotations

import logging
import os
from contextvars import ContextVar

from ...settings.loading import Settings
from ...settings.secrets import Secrets
from ...startup.warm.place import Place
from .. import logs, prints
from ..log_lines import JsonFormatter, TextFormatter
from ..logs import DescriptorLog, HostLogger, UnlockedHandler

LARGEST = 1024 * 1024
"""Bytes of the file, after which another is begun; one older one is kept."""

log = logging.getLogger("mcp_host.server")

current: ContextVar[SessionLog | None] = ContextVar("session_log", default=None)


class SessionLog:
    """Where one session's log goes, from which level on."""

    def __init__(self, descriptor: int, settings: Settings) -> None:
        self.handler = DescriptorLog(descriptor)
        is_json = settings.host.log_format == "json"
        formatter = JsonFormatter if is_json else TextFormatter
        self.handler.setFormatter(formatter(settings.secrets))
        self.level = logging.getLevelNamesMapping()[settings.host.log_level.upper()]

    def write(self, line: str) -> None:
        """Write a line for a person."""
        logs.write_to(self.handler.descriptor, line)


class WarmLog(UnlockedHandler):
    """Gives each event to the session that it happened for, or to the file.

    `secrets` are those of every host of the process: they are masked in the file.
    """

    def __init__(self, place: Place, name: str) -> None:
        super().__init__()
        self._place = place
        self._name = f"{name}.log"
        self._file = DescriptorLog(logs.private_error())
        self.descriptor = self._file.descriptor
        self.secrets = Secrets()
        self.know(Secrets())

    def install(self) -> None:
        """Have all that the process logs come here."""
        logs.configure_with(self, logging.INFO)
        logs.keep_ours()

    def know(self, secrets: Secrets) -> None:
        """Mask these as well from now on."""
        self.secrets |= secrets
        self._file.setFormatter(TextFormatter(self.secrets))
        prints.mask(self.secrets)

    def heed(self, level: int) -> None:
        """Have events of this level made, which a session wants."""
        HostLogger.LEVEL = min(HostLogger.LEVEL, level)
        logging.getLogger("mcp_host").setLevel(HostLogger.LEVEL)

    def emit(self, record: logging.LogRecord) -> None:
        session = current.get()
        if session is None:
            if record.levelno >= logging.INFO:
                self._file.emit(record)
        elif record.levelno >= session.level or not record.name.startswith("mcp_host"):
            session.handler.emit(record)

    def rotate(self) -> None:
        """Begin another file where this one is large."""
        if os.fstat(self.descriptor).st_size < LARGEST:
            return
        folder = self._place.descriptor
        os.replace(self._name, f"{self._name}.1", src_dir_fd=folder, dst_dir_fd=folder)
        fresh = self._place.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for descriptor in (2, self.descriptor):
            os.dup2(fresh, descriptor, inheritable=descriptor == 2)
        os.close(fresh)
