"""What packs leave behind dies in a thread of its own."""

import gc
import threading
from collections.abc import Iterator

import pytest
from mcp_host.runtime import collector
from mcp_host.runtime.collector import Collector


@pytest.fixture
def usual_collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.usefixtures("usual_collector")
def test_garbage_dies_in_the_collectors_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    died: list[str] = []

    class Burden:
        def __del__(self) -> None:
            died.append(threading.current_thread().name)

    monkeypatch.setattr(collector, "THRESHOLDS", (0, 1_000, 1_000))
    gc.disable()
    burden = Burden()
    burden.itself = burden  # type: ignore[attr-defined]
    del burden
    kept = [[] for _ in range(100_000)]  # type: ignore[var-annotated]
    assert not died

    looking = threading.Thread(target=Collector().look, name="collector")
    looking.start()
    looking.join()

    assert died == ["collector"]
    assert len(kept) == 100_000
