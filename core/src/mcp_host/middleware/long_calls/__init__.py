"""Calls of tools that run long go on behind a handle, which a pack's extension keeps."""

from .handles import LongCallHandles
from .moved import Keeper

__all__ = ["Keeper", "LongCallHandles"]
