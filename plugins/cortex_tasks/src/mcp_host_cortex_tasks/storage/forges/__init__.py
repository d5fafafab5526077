"""Pull requests on the forge that a repository's remote lives on."""

from .address import Address, parse_address
from .choose import NoForge, choose_forge, compare_page
from .request import PullRequest

__all__ = [
    "Address",
    "NoForge",
    "PullRequest",
    "choose_forge",
    "compare_page",
    "parse_address",
]
