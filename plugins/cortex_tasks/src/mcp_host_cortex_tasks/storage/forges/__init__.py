"""Pull requests on the forge that a repository's remote lives on."""

from .address import Address, compare_page, parse_address
from .choose import PUBLIC, NoForge, choose_forge, kind_of
from .request import Feedback, PullRequest, Remark

__all__ = [
    "PUBLIC",
    "Address",
    "Feedback",
    "NoForge",
    "PullRequest",
    "Remark",
    "choose_forge",
    "compare_page",
    "kind_of",
    "parse_address",
]
