"""What the tests of commands share."""

import pytest
from core_home import Home


@pytest.fixture
def desk(home: Home) -> Home:
    """A machine with a settings file that enables the desk."""
    home.write("[packs.desk]\n", "desk.toml")
    return home
