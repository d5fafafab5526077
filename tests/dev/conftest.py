"""What the tests of the author's commands share."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "core"))
sys.path.append(str(Path(__file__).resolve().parent))

from core_home import home, make_home

__all__ = ["home", "make_home"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
