"""Where a remote is, read from the addresses that git and ssh know, and the pages of its forge."""

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlencode, urlsplit

from ..hosts import is_loopback

_SCP = re.compile(r"^(?:[^@/\s]+@)?([A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]):(?!/?/)(.+)$")
# Hosts that answer for ssh alone, and the ones that have the pages.
_SSH_ONLY = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}


@dataclass(frozen=True, slots=True)
class Address:
    """A repository on a host: `web` is its page's beginning, `path` as in `owner/name`."""

    web: str
    host: str
    path: str
    ssh: bool = False

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine."""
        return is_loopback(self.host)

    @property
    def owner(self) -> str:
        """The first part of the path."""
        return self.path.split("/")[0]

    def at(self, host: str) -> "Address":
        """Return the same repository at the host that an ssh alias stands for."""
        return _settled(replace(self, host=host.lower(), web=f"https://{_bracketed(host)}"))


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
            return _address(web, host, parts.path, ssh=False)
        if parts.scheme in ("ssh", "git", "git+ssh", "ssh+git"):
            # The port is ssh's, not the page's.
            web = f"https://{_bracketed(host)}"
            return _address(web, host, parts.path, ssh=parts.scheme != "git")
        return None
    found = _SCP.match(url)
    if found is None or len(found[1]) == 1:  # one letter is a drive on Windows
        return None
    host = found[1].strip("[]")
    return _address(f"https://{_bracketed(host)}", host, found[2], ssh=True)


def compare_page(
    base: Address | None, head: Address | None, branch: str, main: str, kind: str | None
) -> str | None:
    """Return the page where a person opens the request; None for a remote without pages.

    `kind` is the forge's, None where it is not known: then the page is as GitHub has it.
    """
    if base is None:
        return None
    place = f"{base.web}/{quote(base.path)}"
    apart = head is not None and head.path != base.path
    theirs = f"{head.owner}:{branch}" if head is not None and apart else branch
    if kind == "gitlab":
        fields = {"merge_request[source_branch]": branch, "merge_request[target_branch]": main}
        home = f"{head.web}/{quote(head.path)}" if head is not None else place
        return f"{home}/-/merge_requests/new?{urlencode(fields)}"
    if kind == "gitea":
        return f"{place}/compare/{quote(main)}...{quote(theirs, safe=':/')}"
    if kind == "bitbucket":
        home = f"{head.web}/{quote(head.path)}" if head is not None else place
        fields = {"source": branch, "dest": f"{base.path}::{main}" if apart else main}
        return f"{home}/pull-requests/new?{urlencode(fields)}"
    if kind == "azure":
        fields = {"sourceRef": branch, "targetRef": main}
        return f"{place}/pullrequestcreate?{urlencode(fields)}"
    wanted = f"{quote(main)}...{quote(theirs, safe=':/')}" if apart else quote(branch)
    return f"{place}/compare/{wanted}?expand=1"


def _address(web: str, host: str, path: str, *, ssh: bool) -> Address | None:
    path = unquote(path).strip("/").removesuffix(".git")
    parts = path.split("/")
    if not host or len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
        return None
    return _settled(Address(web, host.lower(), path, ssh))


def _settled(address: Address) -> Address:
    """Return the address with the host that has pages, and the path as they have it."""
    pages = _SSH_ONLY.get(address.host)
    if pages is None:
        return address
    path = address.path
    parts = path.split("/")
    if pages == "dev.azure.com" and len(parts) == 4 and re.fullmatch(r"v\d+", parts[0]):
        path = f"{parts[1]}/{parts[2]}/_git/{parts[3]}"
    return replace(address, host=pages, web=f"https://{pages}", path=path)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
