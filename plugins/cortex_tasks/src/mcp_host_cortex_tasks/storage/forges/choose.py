"""Which forge a remote is on, and whether the user's token may go there."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..config import PROVIDERS, Config
from ..hosts import is_loopback
from .address import Address

if TYPE_CHECKING:
    from .forge import Forge

# The hosts whose tokens the settings mean when they say nothing else.
PUBLIC = {
    "github.com": ("github", "https://api.github.com"),
    "gitlab.com": ("gitlab", "https://gitlab.com/api/v4"),
    "codeberg.org": ("gitea", "https://codeberg.org/api/v1"),
    "gitea.com": ("gitea", "https://gitea.com/api/v1"),
}
# Those that we have pages for and no API.
PAGES_ONLY = {"bitbucket.org": "bitbucket", "dev.azure.com": "azure"}
API_PATH = {"github": "/api/v3", "gitlab": "/api/v4", "gitea": "/api/v1"}


@dataclass(frozen=True, slots=True)
class NoForge:
    """Why no pull request can be opened: `note` says what would change that."""

    note: str


def choose_forge(
    address: Address | None, config: Config, head: Address | None = None
) -> "Forge | NoForge":
    """Return the forge of a remote, ready to be asked, or why there is none.

    `head` is where branches are pushed to. A token goes to the public host it belongs to, or where
    the user's own settings say, never to a host that only a cloned repository names.
    """
    if address is None:
        return NoForge("The remote is not on a forge.")
    own = config.at(address.host, address.path)
    place = _place(address, own, keyed=own.keyed(address.host, address.path))
    if isinstance(place, NoForge):
        return place
    kind, api = place
    token = own.text(f"{kind}_token")
    if token is None:
        return NoForge(f"Open it in a browser, or: ctx config set {kind}_token TOKEN")
    parts = urlsplit(api)
    in_the_clear = parts.scheme == "http" and not is_loopback(parts.hostname or "")
    if in_the_clear and not own.flag("allow_http"):
        return NoForge(
            f"{api} is plain http, so the token is not sent there; on a network that you"
            " trust: ctx config set allow_http true"
        )
    from .kinds import KINDS  # its HTTP client takes 75 ms: only for those who have a forge

    there = head.path if head is not None and head.host == address.host else None
    return KINDS[kind](api, address.path, token, timeout=own.seconds("timeout"), head=there)


def kind_of(address: Address, config: Config) -> str | None:
    """Return which forge a host is: by itself, by the settings, or by its name."""
    if address.host in PUBLIC:
        return PUBLIC[address.host][0]
    if address.host in PAGES_ONLY:
        return PAGES_ONLY[address.host]
    return config.at(address.host, address.path).text("git_provider") or _guess(address.host)


def _place(address: Address, config: Config, *, keyed: set[str]) -> tuple[str, str] | NoForge:
    """Return which forge and where its API is; `keyed` are the settings of this very place."""
    own_api = config.text("git_api_url")
    if own_api and "git_api_url" not in keyed and not _is_of(own_api, address.host):
        own_api = None  # it is another host's
    if address.host in PUBLIC and not own_api:
        return PUBLIC[address.host]
    kind = kind_of(address, config)
    if kind is None:
        return NoForge(
            f"Which forge {address.host} is:"
            f" ctx config set git_provider github|gitlab|gitea --for {address.host}"
        )
    if kind not in PROVIDERS:
        return NoForge(
            "Open it in a browser."
            if kind in PAGES_ONLY.values()
            else f"git_provider is {kind!r}; it must be one of {', '.join(PROVIDERS)}."
        )
    if own_api:
        return kind, own_api
    if config.text("git_provider") and address.loopback:
        return kind, address.web + API_PATH[kind]
    api = address.web + API_PATH[kind]
    if f"{kind}_token" in keyed:  # the person gave this host a token of its own
        return kind, api
    return NoForge(
        f"To open pull requests on {address.host}:"
        f" ctx config set {kind}_token TOKEN --for {address.host}"
        f" (and git_api_url where its API is not {api})"
    )


def _is_of(api: str, host: str) -> bool:
    """Tell whether an API is at a host, or at a host below its name."""
    there = (urlsplit(api).hostname or "").lower()
    return there == host or there.endswith(f".{host}") or (is_loopback(there) and is_loopback(host))


def _guess(host: str) -> str | None:
    """Tell a self-hosted forge by its name."""
    names = {"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea"}
    names |= {"bitbucket": "bitbucket"}
    return next((kind for word, kind in names.items() if word in host.split(".")), None)
