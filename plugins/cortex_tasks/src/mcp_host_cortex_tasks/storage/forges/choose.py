"""Which forge a remote is on, and whether the user's token may go there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from ..config import PROVIDERS, Config
from .address import Address

if TYPE_CHECKING:
    from .forge import Forge

# The hosts whose tokens the settings mean when they say nothing else.
PUBLIC = {
    "github.com": ("github", "https://api.github.com"),
    "ssh.github.com": ("github", "https://api.github.com"),
    "gitlab.com": ("gitlab", "https://gitlab.com/api/v4"),
    "altssh.gitlab.com": ("gitlab", "https://gitlab.com/api/v4"),
    "codeberg.org": ("gitea", "https://codeberg.org/api/v1"),
    "gitea.com": ("gitea", "https://gitea.com/api/v1"),
}
API_PATH = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}


@dataclass(frozen=True, slots=True)
class NoForge:
    """Why no pull request can be opened: `note` says what would change that."""

    note: str


def choose_forge(address: Address | None, config: Config) -> "Forge | NoForge":
    """Return the forge of a remote, ready to be asked, or why there is none.

    A token goes to the public host it belongs to, or where the user's own settings say
    (`git_api_url`), never to a host that only a cloned repository names.
    """
    if address is None:
        return NoForge("The remote is not on a forge.")
    place = _place(address, config)
    if isinstance(place, NoForge):
        return place
    kind, api = place
    token = config.text(f"{kind}_token")
    if token is None:
        return NoForge(f"Open it in a browser, or: ctx config set {kind}_token TOKEN")
    from .kinds import KINDS  # its HTTP client takes 75 ms: only for those who have a forge

    return KINDS[kind](api, address.path, token, timeout=config.seconds("timeout"))


def compare_page(address: Address | None, branch: str) -> str | None:
    """Return the page where a person opens the pull request; None for a remote without pages."""
    if address is None:
        return None
    return f"{address.web}/{quote(address.path)}/compare/{quote(branch)}?expand=1"


def _place(address: Address, config: Config) -> tuple[str, str] | NoForge:
    """Return which forge and where its API is."""
    own_api, said = config.text("git_api_url"), config.text("git_provider")
    if address.host in PUBLIC and not (own_api and urlsplit(own_api).hostname == address.host):
        return PUBLIC[address.host]
    kind = said or _guess(address.host)
    if kind is None:
        return NoForge(
            f"Which forge {address.host} is: ctx config set git_provider github|gitlab|gitea"
        )
    if kind not in PROVIDERS:
        return NoForge(f"git_provider is {kind!r}; it must be one of {', '.join(PROVIDERS)}.")
    if own_api:
        return kind, own_api
    if said and address.loopback:
        return kind, address.web + API_PATH[kind]
    api = address.web + API_PATH[kind]
    return NoForge(f"To open pull requests on {address.host}: ctx config set git_api_url {api}")


def _guess(host: str) -> str | None:
    """Tell a self-hosted forge by its name."""
    names = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}
    return next((kind for word, kind in names.items() if word in host.split(".")), None)
