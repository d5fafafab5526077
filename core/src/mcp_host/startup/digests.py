"""SHA-256 without OpenSSL, which `hashlib` loads: 2 ms and 2 MiB of every start and front.

The modules are written in C and come with Python; where there is none of their names, `hashlib`
serves.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as sha256


def __getattr__(name: str) -> object:
    """Find `sha256`, once."""
    if name != "sha256":
        raise AttributeError(name)
    own = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    try:
        module = import_module(own)
    except ImportError:
        module = import_module("hashlib")
    found = globals()["sha256"] = module.sha256
    return found
