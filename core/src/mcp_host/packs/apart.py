"""A pack in a process of its own: what the process is told first, and what it declares.

Importing the pack never happens in the host's process.
"""

from __future__ import annotations

import datetime
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from ..declarations.needs import USUAL_VARIABLES, Needs, chosen as environment_of
from ..declarations.worker import WorkerPlace, WorkerProgram, WorkerThread
from ..errors import SettingsError
from ..settings.loading import Settings
from ..settings.secrets import cure
from ..settings.workers import WorkerChoice
from ..startup.dataclass import dataclass
from . import told
from .children.child import Child, ChildLaunch, ChildLostError, Program
from .children.frames import BORDER, FrameError
from .children.hosted import HostedChild
from .children.supervisor import Supervisor
from .declared import Declared, LoadError, Offer
from .declaring import OnStep
from .words import told as in_words

STARTING = "starting its process"
START_LIMIT = 30.0
"""Seconds until a process has begun to import its pack, which is no work of the pack."""
LOG = "log"
MOST_WORDS, MOST_TRACEBACK = 2048, 16 * 1024
"""The most characters of a line of a process's log, and of its traceback."""

log = logging.getLogger("mcp_host.packs")


class Apart:
    """One pack's process: how it is started, what it is told, and the first child that was.

    `offer` is None where the pack's own environment knows it. `prefixed` says that public names
    have a prefix.

    Invariants: `told` is what the first child has declared; a later child that declares otherwise
    is refused. That child is in `_first` until `take` or `end` has it, once, in whatever thread.
    """

    def __init__(
        self,
        name: str,
        offer: Offer | None,
        settings: Settings,
        supervisor: Supervisor,
        prefixed: bool,
    ) -> None:
        self.name = name
        self.supervisor = supervisor
        self.start_timeout = settings.host.start_timeout
        self.cpu = settings.packs[name].cpu
        self.told: Mapping[str, Any] = {}
        self._table = settings.packs[name]
        self._settings = settings
        self._worker = settings.workers.get(name)
        self._offer = offer
        self._prefixed = prefixed
        self._lock = threading.Lock()
        self._first: Child | HostedChild | None = None

    @property
    def is_brought(self) -> bool:
        """Whether its side is a program that another distribution brings."""
        return self._worker is not None

    @property
    def request(self) -> dict[str, Any]:
        """What a child is told first: which pack it is, and its settings."""
        offer, settings, table = self._offer, self._settings, self._table
        return {
            "declare": self.name,
            "offer": None if offer is None else list(astuple(offer)),
            "table": table.model_dump(mode="json", exclude={"settings"}, exclude_unset=True),
            "settings": with_dates_marked(table.settings),
            "worker": None if self._worker is None else self._worker.value,
            "worker_keys": {} if self._worker is None else self._worker.given,
            "environment": self._usual_variables if self._worker is not None else {},
            "problem": settings.problems.get(self.name),
            "root": None if settings.host.root is None else str(settings.host.root),
            "source": None if settings.source is None else str(settings.source),
            "folder": str(settings.folder),
            "log_level": settings.host.log_level,
            "asking_timeout": settings.host.asking_timeout,
            "start_timeout": settings.host.start_timeout,
            "prefixed": self._prefixed,
            "secret_variables": sorted(settings.secrets.variables),
        }

    def start(self) -> Child | HostedChild:
        """Start a child; it has still to be sent `request`."""
        if self._worker is None:
            return self.supervisor.start(self._launch())
        brought = self._brought(self._worker)
        if isinstance(brought, WorkerThread):
            return HostedChild(self.name, brought.serve, self._run)
        environment = {**self._variables, **brought.environment}
        return self.supervisor.start(self._launch_of(brought.argv, environment))

    def take(self) -> Child | HostedChild | None:
        """Return the child that has declared, once; None where it was taken before."""
        with self._lock:
            child, self._first = self._first, None
            return child

    def end(self) -> None:
        """End the child that has declared, where it was not taken."""
        child = self.take()
        if child is not None:
            child.kill()
            child.close()

    def declare(self, step: OnStep) -> Declared:
        """Start a child and have it declare; `LoadError` says why it does not."""
        try:
            child = self.start()
        except OSError as error:
            raise LoadError(
                "process_failed",
                f"its process cannot be started: {error}",
                f"see to what the reason names, or to [packs.{self.name}]",
            ) from None
        now, limit = STARTING, START_LIMIT
        try:
            child.send(self.request)
            while True:
                head, _ = child.receive(limit)
                if "step" in head:
                    now, limit = str(head["step"])[:2048], self.start_timeout
                    step(now)
                elif LOG in head:
                    write_log(self.name, head)
                else:
                    break
            declared = self.declared(head)
        except TimeoutError:
            child.kill()
            raise LoadError(
                "load_timeout",
                f"{now} took longer than {limit:g} s",
                "look at what the pack does at that moment, or disable it",
            ) from None
        except ChildLostError:
            raise _crashed(child, now) from None
        except FrameError as error:
            child.kill()
            raise LoadError("process_failed", f"its process does not speak: {error}") from None
        except LoadError:
            child.close()
            raise
        self._first = child
        return declared

    def declared(self, head: Mapping[str, Any]) -> Declared:
        """Return what a child declares in a message; `LoadError` where it says that it cannot."""
        if "refused" in head:
            code, reason, remedy = (str(part)[:4096] for part in head["refused"])
            raise LoadError(code, reason, remedy)
        if head.get("border") != BORDER:
            raise LoadError(
                "border_unknown",
                f"its process speaks version {str(head.get('border'))[:20]} of the border's "
                f"messages, and the host {BORDER}",
                "install the same version of mcp-host for both",
            )
        try:
            return self._declared(head["declared"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"what its process declares cannot be read: {type(error).__name__}: {error}"
            raise LoadError("process_failed", reason) from error

    def _declared(self, about: Mapping[str, Any]) -> Declared:
        own = about.get("settings")
        words = (str(about.get(key, "")) for key in ("module", "distribution", "version"))
        file = self._offer if self._offer is not None and self._offer.file else None
        offer = file or Offer(self.name, *words)
        self.told = about
        return DeclaredApart(
            name=self.name,
            offer=offer,
            table=self._table,
            settings_model=None
            if own is None
            else told.ToldSettings(own["schema"], tuple(own["reads_environment"])),
            tools=told.tools(about.get("tools", ())),
            resources=told.resources(about.get("resources", ())),
            prompts=told.prompts(about.get("prompts", ())),
            instructions=str(about.get("instructions", "")),
            acts_as_server_user=about.get("acts_as_server_user") is True,
            checks=(told.elsewhere,) * about.get("checks", 0),
            bus=told.elsewhere if about.get("bus") is True else None,
            needs=Needs(**about.get("needs", {})),
            extensions=told.extensions(about.get("extensions", ())),
            skills=told.skills(about),
            process=self,
        )

    @property
    def _variables(self) -> dict[str, str]:
        """The environment without what settings read as secrets."""
        secret = self._settings.secrets.variables
        own = self._settings.environment
        variables = os.environ if own is None else own
        return {name: value for name, value in variables.items() if name not in secret}

    @property
    def _usual_variables(self) -> dict[str, str]:
        """What every program gets of the environment, whoever starts it."""
        return environment_of(USUAL_VARIABLES, self._variables)

    def _launch(self) -> ChildLaunch:
        table = self._table
        return ChildLaunch(
            environment=self._variables,
            path=tuple(sys.path),
            folder=str(self._settings.here),
            argv=None if table.python is None else (self._interpreter(table.python),),
            limits=self._limits,
        )

    def _launch_of(
        self, argv: Sequence[str], environment: Mapping[str, str], folder: str = ""
    ) -> ChildLaunch:
        """Return how a program is started that another distribution brings or names."""
        return ChildLaunch(
            environment=environment,
            folder=folder or str(self._settings.here),
            argv=tuple(argv),
            limits=self._limits,
            is_whole=True,
        )

    def _run(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> Program:
        """Start a program of a worker that lives in the host's threads."""
        return self.supervisor.run(self._launch_of(argv, environment, folder))

    @property
    def _limits(self) -> dict[str, int]:
        table = self._table
        limits = {
            "memory": table.memory_bytes,
            "open_files": table.open_files,
            "processes": table.processes,
        }
        return {name: most for name, most in limits.items() if most is not None}

    def _brought(self, worker: WorkerChoice) -> WorkerProgram | WorkerThread:
        """Ask the distribution that brings a worker for it."""
        try:
            ask = worker.point.load()
            folder = self._settings.folder
            place = WorkerPlace(self.name, worker.value, folder, worker.key, worker.beside)
            program = ask(place)
        except SettingsError as error:
            remedy = cure(str(error), self._settings.source)
            raise LoadError("settings_invalid", str(error), remedy) from None
        except Exception as error:
            raise OSError(f"the worker of '{worker.key}' raised {in_words(error)}") from error
        if not isinstance(program, WorkerProgram | WorkerThread):
            raise OSError(
                f"the worker of '{worker.key}' must return a WorkerProgram or a WorkerThread"
            )
        return program

    def _interpreter(self, named: str) -> str:
        """Return the interpreter's absolute path; a virtual environment's link is not followed."""
        path = os.path.normpath(self._settings.folder / Path(named).expanduser())
        if not os.access(path, os.X_OK):
            raise FileNotFoundError(f"python must name an interpreter, and {path} is none")
        return path


def write_log(pack: str, message: Mapping[str, Any]) -> None:
    """Write what a pack's process has logged; raises where the message says nothing like that."""
    for line in message[LOG]:
        logger = logging.getLogger(str(line["logger"])[:256])
        level = int(line["level"])
        if logger.isEnabledFor(level):
            extra = {"pack": pack, "traceback": str(line["traceback"])[:MOST_TRACEBACK]}
            logger.log(level, "%s", str(line["message"])[:MOST_WORDS], extra=extra)
    if message["dropped"]:
        log.warning("pack %s: %d lines were dropped", pack, int(message["dropped"]))


def _crashed(child: Child | HostedChild, step: str) -> LoadError:
    ended = child.how_it_ended()
    child.close()
    how = over(ended.over) if ended.over else f"crashed ({ended.words})"
    remedy = "its last words, if any, are in the log of `mcp-host serve`"
    if ended.status == -signal.SIGKILL and not ended.over:
        remedy = "something outside ended it: the system, where memory ran out, or a person"
    return LoadError("crashed", f"{how} while {step}", remedy)


def over(limit: str) -> str:
    """Say which limit a process was ended for."""
    return f"ended: it used more than its {limit.replace('_', ' ')}"


def with_dates_marked(value: Any) -> Any:
    """Return settings as JSON data: TOML's dates and times, which JSON lacks, are marked."""
    if isinstance(value, Mapping):
        return {key: with_dates_marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_dates_marked(item) for item in value]
    for kind in (datetime.datetime, datetime.date, datetime.time):
        if isinstance(value, kind):
            return {"\0": [kind.__name__, value.isoformat()]}
    return value


def with_dates(value: Any) -> Any:
    """Return settings that `with_dates_marked` made, as they were."""
    if isinstance(value, dict):
        if "\0" in value:
            kind, text = value["\0"]
            return getattr(datetime, kind).fromisoformat(text)
        return {key: with_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_dates(item) for item in value]
    return value


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredApart(Declared):
    """What a pack in a process of its own has declared: functions that stand for those there."""

    process: Apart

    @property
    def file(self) -> str | None:
        place = self.process.told.get("file")
        return place if isinstance(place, str) else None

    @property
    def is_apart(self) -> bool:
        return True

    @property
    def is_brought(self) -> bool:
        return self.process.is_brought

    def discard(self) -> None:
        self.process.end()
