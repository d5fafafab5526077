"""Where a remote is, read from the address that git knows."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ..hosts import is_loopback

_SCP = re.compile(r"^(?:[^@/\s]+@)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):(?!/?/)(.+)$")


@dataclass(frozen=True, slots=True)
class Address:
    """A repository on a host: `web` is its page's beginning, `path` as in `owner/name`."""

    web: str
    host: str
    path: str

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine."""
        return is_loopback(self.host)


def parse_address(url: str) -> Address | None:
    """Return the address of a remote; None for a folder and for anything without a host."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return None
        if parts.scheme in ("http", "https"):
            web = f"{parts.scheme}://{_bracketed(host)}{f':{port}' if port else ''}"
        elif parts.scheme in ("ssh", "git", "git+ssh", "ssh+git"):
            web = f"https://{_bracketed(host)}"  # the port is ssh's, not the page's
        else:
            return None
        return _address(web, host, parts.path)
    found = _SCP.match(url)
    if found is None or len(found[1]) == 1:  # one letter is a drive on Windows
        return None
    host = found[1].strip("[]")
    return _address(f"https://{_bracketed(host)}", host, found[2])


def _address(web: str, host: str, path: str) -> Address | None:
    path = unquote(path).strip("/").removesuffix(".git")
    parts = path.split("/")
    if not host or len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
        return None
    return Address(web, host.lower(), path)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
