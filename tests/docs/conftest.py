"""Fixtures of the tests of the documentation."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # docs_pages and docs_session, beside this file


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
