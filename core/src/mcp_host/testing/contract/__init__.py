"""What every pack should hold, checked: as a function, and as tests to inherit."""

from __future__ import annotations

from .checking import check_pack
from .finding import ContractFinding
from .suite import PackContract

__all__ = ["ContractFinding", "PackContract", "check_pack"]
