"""Servers of third parties, on loopback: the three forges, and backends that misbehave."""

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Reply = tuple[int, Any, dict[str, str]]


@dataclass
class Asked:
    """One request as a server saw it."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A server whose answers a test decides: `answer` gets each request."""

    answer: Callable[[Asked], Reply | None]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    @contextlib.contextmanager
    def running(self) -> Iterator["Server"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _requests(self))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _requests(owner: Server) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            asked = Asked(self.command, parts.path, query, dict(self.headers), body)
            owner.asked.append(asked)
            reply = owner.answer(asked)
            if reply is None:  # hang up without a word
                self.close_connection = True
                return
            status, data, headers = reply
            content = data if isinstance(data, bytes) else json.dumps(data).encode()
            self.send_response(status)
            headers = {
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
            } | headers
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(content)
            self.close_connection = "Connection" in headers

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _any

        def log_message(self, *_: object) -> None:
            pass

    return Requests


@dataclass
class Pull:
    """A pull request as a forge keeps it."""

    number: int
    branch: str
    base: str
    title: str
    body: str
    head: str
    open: bool = True
    merged: bool = False


class Forge(Server):
    """What the three forges have in common; `tip` asks the bare repository."""

    kind: str
    path = "acme/app"

    def __init__(self, tip: Callable[[str], str]) -> None:
        super().__init__(self._answer)
        self.token = "forge-token-0123456789"
        self.tip = tip
        self.pulls: list[Pull] = []
        self.first: list[Reply] = []  # answers given before the real ones
        self.blind_lists = 0  # lists that miss what is there, as in a race

    def open_pull(self, branch: str, title: str = "By hand") -> Pull:
        pull = Pull(len(self.pulls) + 1, branch, "main", title, "", self.tip(branch))
        self.pulls.append(pull)
        return pull

    def merge(self, pull: Pull) -> None:
        pull.open, pull.merged = False, True

    def listed(self) -> list[Pull]:
        if self.blind_lists:
            self.blind_lists -= 1
            return []
        return self.pulls

    def taken(self, branch: str) -> bool:
        return any(pull.open and pull.branch == branch for pull in self.pulls)

    def _answer(self, asked: Asked) -> Reply:
        if self.first:
            return self.first.pop(0)
        if not self.known(asked):
            return 401, {"message": "Bad credentials"}, {}
        return self.api(asked)

    def known(self, asked: Asked) -> bool:
        return asked.headers.get("Authorization") == f"Bearer {self.token}"

    def api(self, asked: Asked) -> Reply:
        raise NotImplementedError

    def page(self, asked: Asked, rows: list[Any], size: int) -> Reply:
        """A page of a list with the Link header that leads to the next."""
        page = int(asked.query.get("page", "1"))
        here = rows[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(rows):
            query = "&".join(f"{k}={v}" for k, v in {**asked.query, "page": page + 1}.items())
            headers["Link"] = f'<{self.url}{asked.path}?{query}>; rel="next"'
        return 200, here, headers


class GitHub(Forge):
    """The part of GitHub's REST API that pull requests need."""

    kind = "github"

    def api(self, asked: Asked) -> Reply:
        base = f"/api/v3/repos/{self.path}/pulls"
        if asked.path == base and asked.method == "GET":
            state, head = asked.query.get("state", "open"), asked.query.get("head", "")
            owner, _, branch = head.partition(":")
            rows = [
                self._row(pull)
                for pull in self.listed()
                if (state == "all" or pull.open)
                # Without an owner GitHub ignores the filter.
                and (not branch or (owner == "acme" and pull.branch == branch))
            ]
            return self.page(asked, rows, int(asked.query.get("per_page", "30")))
        if asked.path == base and asked.method == "POST":
            sent = json.loads(asked.body)
            if self.taken(sent["head"]):
                message = f"A pull request already exists for acme:{sent['head']}."
                error = {"resource": "PullRequest", "code": "custom", "message": message}
                return 422, {"message": "Validation Failed", "errors": [error]}, {}
            pull = self.open_pull(sent["head"], sent["title"])
            pull.base, pull.body = sent["base"], sent["body"]
            return 201, self._row(pull), {}
        if found := re.fullmatch(rf"{base}/(\d+)", asked.path):
            pull = self.pulls[int(found[1]) - 1]
            pull.open = json.loads(asked.body).get("state") != "closed"
            return 200, self._row(pull), {}
        return 404, {"message": "Not Found"}, {}

    def _row(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number,
            "html_url": f"{self.url}/{self.path}/pull/{pull.number}",
            "state": "open" if pull.open else "closed",
            "merged_at": "2026-01-01T00:00:00Z" if pull.merged else None,
            "title": pull.title,
            "head": {"ref": pull.branch, "sha": pull.head},
            "base": {"ref": pull.base},
        }


class GitLab(Forge):
    """The part of GitLab's API that merge requests need."""

    kind = "gitlab"
    path = "acme/team/app"

    def api(self, asked: Asked) -> Reply:
        project = asked.path.removeprefix("/api/v4/projects/").split("/")[0]
        if unquote(project) != self.path:
            return 404, {"message": "404 Project Not Found"}, {}
        rest = asked.path.removeprefix(f"/api/v4/projects/{project}/merge_requests")
        if rest == "" and asked.method == "GET":
            branch, state = asked.query.get("source_branch"), asked.query.get("state", "all")
            rows = [
                self._row(pull)
                for pull in self.listed()
                if pull.branch == branch and (state == "all" or pull.open)
            ]
            return self.page(asked, rows, int(asked.query.get("per_page", "20")))
        if rest == "" and asked.method == "POST":
            sent = json.loads(asked.body)
            if self.taken(sent["source_branch"]):
                words = "Another open merge request already exists for this source branch: !1"
                return 409, {"message": [words]}, {}
            pull = self.open_pull(sent["source_branch"], sent["title"])
            pull.base, pull.body = sent["target_branch"], sent["description"]
            return 201, self._row(pull), {}
        if asked.method == "PUT":
            pull = self.pulls[int(rest.strip("/")) - 1]
            pull.open = json.loads(asked.body).get("state_event") != "close"
            return 200, self._row(pull), {}
        return 404, {"message": "404 Not Found"}, {}

    def _row(self, pull: Pull) -> dict[str, Any]:
        state = "opened" if pull.open else "merged" if pull.merged else "closed"
        return {
            "iid": pull.number,
            "web_url": f"{self.url}/{self.path}/-/merge_requests/{pull.number}",
            "state": state,
            "sha": pull.head,
            "source_branch": pull.branch,
            "target_branch": pull.base,
            "source_project_id": 7,
            "target_project_id": 7,
        }


class Gitea(Forge):
    """The part of Gitea's API that pull requests need. It has no filter by branch."""

    kind = "gitea"

    def known(self, asked: Asked) -> bool:
        return asked.headers.get("Authorization") == f"token {self.token}"

    def api(self, asked: Asked) -> Reply:
        base = f"/api/v1/repos/{self.path}/pulls"
        if asked.path == base and asked.method == "GET":
            rows = [
                self._row(pull)
                for pull in reversed(self.listed())
                if asked.query.get("state") == "all" or pull.open
            ]
            return self.page(asked, rows, min(int(asked.query.get("limit", "30")), 50))
        if asked.path == base and asked.method == "POST":
            sent = json.loads(asked.body)
            if self.taken(sent["head"]):
                words = "pull request already exists for these targets"
                return 409, {"message": words, "url": f"{self.url}/api/swagger"}, {}
            pull = self.open_pull(sent["head"], sent["title"])
            pull.base, pull.body = sent["base"], sent["body"]
            return 201, self._row(pull), {}
        if found := re.fullmatch(rf"{base}/(\d+)", asked.path):
            pull = self.pulls[int(found[1]) - 1]
            pull.open = json.loads(asked.body).get("state") != "closed"
            return 201, self._row(pull), {}
        return 404, {"message": "Not Found"}, {}

    def _row(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number,
            "html_url": f"{self.url}/{self.path}/pulls/{pull.number}",
            "state": "open" if pull.open else "closed",
            "merged": pull.merged,
            "head": {"ref": pull.branch, "sha": pull.head, "repo": {"full_name": self.path}},
            "base": {"ref": pull.base},
        }


FORGES = (GitHub, GitLab, Gitea)
