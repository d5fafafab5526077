"""A pack with long jobs: it compresses many files, tells how far it is, and asks before it begins.

What to look at: the question is declared and made of what is at stake, so the body runs once and
only after the answer; a job reports progress and ends where nobody waits for it, with nothing half
written; what takes longer than a client waits is begun by one tool and fetched by another.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

from mcp_host import (
    Ask,
    Cancelled,
    Context,
    Form,
    Needs,
    PackHandle,
    Tool,
    hookimpl,
    tool,
)
from pydantic import BaseModel, ConfigDict, Field

FEW = 3
"""As many files are packed without a question."""
KEPT = 100
"""Jobs that are kept, the oldest given up first."""


class NoSuchJob(Exception):
    """An id that no job has, or none any more."""


class PackingSettings(BaseModel):
    """[packs.packing.settings]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path | None = Field(None, description="The folder whose files are packed")


class Packed(BaseModel):
    """What came of a job."""

    files: int
    bytes_before: int
    bytes_after: int


class Job(BaseModel):
    """A job that was begun: how far it is, and what came of it once it is done."""

    job: str
    state: Literal["running", "done", "failed"]
    done: int
    total: int
    result: Packed | None = None


class Packing:
    """Packs the files of a folder, at once or as jobs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def files(self, suffix: str) -> list[Path]:
        """The files that a job would pack."""
        return sorted(p for p in self._root.glob(f"*{suffix}") if p.is_file() and p.suffix != ".gz")

    def pack(
        self,
        files: Sequence[Path],
        told: Callable[[int], None],
        is_over: Callable[[], bool],
    ) -> Packed:
        """Pack these files; `told` hears how many are done, `is_over` says to stop."""
        before = after = 0
        for number, file in enumerate(files):
            if is_over():
                raise Cancelled(f"{number} of {len(files)} files were packed")
            content = file.read_bytes()
            packed = gzip.compress(content, mtime=0)
            draft = file.with_name(f".{file.name}.{uuid4().hex}")
            draft.write_bytes(packed)
            draft.replace(f"{file}.gz")  # there whole, or not at all
            before, after = before + len(content), after + len(packed)
            told(number + 1)
        return Packed(files=len(files), bytes_before=before, bytes_after=after)

    def begin(self, files: Sequence[Path]) -> Job:
        """Begin a job that goes on when the call has ended; on the pack's loop."""
        job = Job(job=uuid4().hex, state="running", done=0, total=len(files))
        self._jobs[job.job] = job
        task = asyncio.create_task(self._run(job, files))
        self._tasks[job.job] = task
        task.add_done_callback(lambda _: self._tasks.pop(job.job, None))
        for old in [id_ for id_ in self._jobs if id_ not in self._tasks][:-KEPT]:
            del self._jobs[old]
        return job

    async def _run(self, job: Job, files: Sequence[Path]) -> None:
        def told(done: int) -> None:
            job.done = done

        try:
            job.result = await asyncio.to_thread(self.pack, files, told, lambda: False)
            job.state = "done"
        except OSError:
            job.state = "failed"

    def job(self, job: str) -> Job:
        """How a job is; `NoSuchJob` where there is none."""
        if job not in self._jobs:
            raise NoSuchJob(f"There is no job {job}")
        return self._jobs[job]

    async def close(self) -> None:
        """Wait for the jobs that run."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


Suffix = Annotated[
    str, Field(pattern=r"^(\.[a-z0-9]{1,8})?$", description='Only such files, as ".txt"')
]


def many(packing: Packing, /, suffix: str) -> Form[bool] | bool:
    """Ask before many files are packed, with what is at stake; few need no question."""
    files = packing.files(suffix)
    if len(files) <= FEW:
        return True
    size = sum(file.stat().st_size for file in files)
    return Form(f"Pack {len(files)} files of {size} bytes?", bool)


@tool(destructive=False, idempotent=True, open_world=False, timeout=300)
def pack(
    packing: Packing,
    /,
    context: Context,
    sure: Annotated[bool, Ask(many)],
    suffix: Suffix = "",
) -> Packed:
    """Pack the files of the folder, and wait until it is done."""
    if not sure:
        raise Cancelled("The user does not want it; nothing was packed.")
    files = packing.files(suffix)
    return packing.pack(
        files,
        lambda done: context.progress(done, len(files), files[done - 1].name),
        lambda: context.cancelled,
    )


@tool(destructive=False, idempotent=True, open_world=False)
async def begin(packing: Packing, /, sure: Annotated[bool, Ask(many)], suffix: Suffix = "") -> Job:
    """Begin to pack the files of the folder. The answer has an id for {tool:job}."""
    if not sure:
        raise Cancelled("The user does not want it; nothing was packed.")
    return packing.begin(packing.files(suffix))


@tool(read_only=True, open_world=False)
def job(packing: Packing, /, job: Annotated[str, Field(description="Its id")]) -> Job:
    """Return how far a job is that {tool:begin} began, and its result once it is done."""
    return packing.job(job)


@hookimpl
def mcp_host_settings() -> type[PackingSettings]:
    return PackingSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: PackingSettings, pack: PackHandle) -> AsyncIterator[Packing]:
    packing = Packing(settings.root or Path.cwd())
    try:
        yield packing
    finally:
        await packing.close()


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [pack, begin, job]


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=())


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {NoSuchJob: "not_found"}
