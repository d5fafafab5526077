"""Who may see what the page shows."""

import secrets

from mcp_host import PageRequest, PageResponse

OPEN = frozenset({"/", "/styles.css", "/page.css", "/page.js", "/icon.svg"})
"""What holds nothing but the page's own code: it is loaded before the token can be shown."""


class Door:
    """Lets in who has the token of this run.

    It stands in the address's fragment, which a browser sends nowhere; the page's code sends it as
    a bearer token, with every request.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)

    def admit(self, asked: PageRequest) -> PageResponse | None:
        """Return what is answered in place of the page's data, or None to whoever has the token."""
        if asked.method == "GET" and asked.path in OPEN:
            return None
        said = asked.headers.get("authorization", "")
        if secrets.compare_digest(said.encode(), f"Bearer {self.token}".encode()):
            return None
        return PageResponse("This needs the token of the address that was printed.", 403)
