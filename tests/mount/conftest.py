"""What the tests of mounted servers share."""

import sys
from pathlib import Path

import pytest

sys.path += [
    str(Path(__file__).resolve().parent),
    str(Path(__file__).resolve().parents[1] / "core"),
]

from core_home import home, make_home

__all__ = ["home", "make_home"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
