"""Fixtures for pytest: `pytest_plugins = ["mcp_host.testing.fixtures"]` in a conftest.py.

They are plain fixtures, so tests may be run by anyio's plugin, by pytest-asyncio or by nothing of
the kind: the host runs on an event loop of its own, in a thread beside the test.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import tomllib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import pytest

from .hosting import Hosted, hosted

T = TypeVar("T")
WAIT = 60.0
"""Seconds that the host may take to open or to close."""


@pytest.fixture
def mcp_host_packs(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The packs of the project that is tested: names, each with its plugin module."""
    file = Path(request.config.rootpath, "pyproject.toml")
    project = tomllib.loads(file.read_text("utf-8"))["project"] if file.is_file() else {}
    packs: Mapping[str, str] = project.get("entry-points", {}).get("mcp_host.packs", {})
    if not packs:
        raise pytest.UsageError(
            f"{file} must offer a pack in the entry points mcp_host.packs; or define a fixture "
            'mcp_host_packs that returns {"NAME": "its.plugin"}'
        )
    return packs


@pytest.fixture
def mcp_host_tables() -> Mapping[str, Any]:
    """The settings, in the shape of mcp-host.toml; none unless a fixture of this name says so."""
    return {}


@pytest.fixture
def host(
    mcp_host_packs: Mapping[str, str], mcp_host_tables: Mapping[str, Any], tmp_path: Path
) -> Iterator[Any]:
    """The project's packs in a running host, as `hosted` gives it, in an empty folder."""
    with _Beside(hosted(mcp_host_packs, mcp_host_tables, root=tmp_path)) as beside:
        yield beside


class _Beside:
    """Enters a host on an event loop in a thread of its own."""

    def __init__(self, manager: AbstractAsyncContextManager[Hosted]) -> None:
        self._manager = manager
        self._loop = asyncio.new_event_loop()
        self._is_over = asyncio.Event()
        self._opened = threading.Event()
        self._kit: Hosted | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Proxy:
        self._thread.start()
        if not self._opened.wait(WAIT):
            raise TimeoutError(f"the host did not open in {WAIT:g} s")
        if self._kit is None:
            raise self._error or RuntimeError("the host did not open")
        return _Proxy(self._kit, self._loop)

    def __exit__(self, *raised: object) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join(WAIT)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._opened.set()
            self._loop.close()

    async def _serve(self) -> None:
        async with self._manager as self._kit:
            self._opened.set()
            await self._is_over.wait()


class _Proxy:
    """A `Hosted` on another loop: what is awaited there is awaited here, the rest is called."""

    def __init__(self, kit: Hosted, loop: asyncio.AbstractEventLoop) -> None:
        self._kit = kit
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._kit, name)
        if inspect.iscoroutinefunction(value):
            return self._awaited(value)
        return self._called(value) if inspect.ismethod(value) else value

    def _awaited(self, method: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Any]:
        @wraps(method)
        async def awaited(*given: Any, **named: Any) -> T:
            there = asyncio.run_coroutine_threadsafe(method(*given, **named), self._loop)
            return await asyncio.wrap_future(there)

        return awaited

    def _called(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def called(*given: Any, **named: Any) -> Any:
            async def call() -> Any:
                return method(*given, **named)

            made = asyncio.run_coroutine_threadsafe(call(), self._loop).result(WAIT)
            return _Proxy(made, self._loop) if isinstance(made, Hosted) else made

        return called
