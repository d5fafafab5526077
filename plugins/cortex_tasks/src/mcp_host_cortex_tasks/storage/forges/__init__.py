"""Pull requests on the forge that a repository's remote lives on."""

from mcp_host_cortex_tasks.storage.forges.address import Address, parse_address
from mcp_host_cortex_tasks.storage.forges.choose import NoForge, choose_forge, compare_page
from mcp_host_cortex_tasks.storage.forges.forge import Forge, PullRequest

__all__ = [
    "Address",
    "Forge",
    "NoForge",
    "PullRequest",
    "choose_forge",
    "compare_page",
    "parse_address",
]
