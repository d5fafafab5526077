"""Servers of third parties, on loopback: the three forges, and backends that misbehave."""

import contextlib
import hashlib
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
    draft: bool = False
    owner: str = "acme"
    checks: dict[str, str] = field(default_factory=dict)
    reviews: dict[str, str] = field(default_factory=dict)
    comments: list["Said"] = field(default_factory=list)
    mergeable: bool = True


@dataclass
class Said:
    """A comment at a pull request; one at a file belongs to a thread that can be resolved."""

    author: str
    body: str
    writer: bool = True
    path: str | None = None
    resolved: bool = False


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
        self.parent: str | None = None
        self.private = False
        self.tagged = False  # whether answers have ETags

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
        status, data, headers = self.api(asked)
        if self.tagged and asked.method == "GET" and status == 200:
            tag = f'"{hashlib.sha256(json.dumps(data).encode()).hexdigest()[:12]}"'
            if asked.headers.get("If-None-Match") == tag:
                return 304, b"", {"ETag": tag}
            headers = {**headers, "ETag": tag}
        return status, data, headers

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
                and (not branch or (owner == pull.owner and pull.branch == branch))
            ]
            return self.page(asked, rows, int(asked.query.get("per_page", "30")))
        if asked.path == base and asked.method == "POST":
            sent = json.loads(asked.body)
            if self.taken(sent["head"]):
                message = f"A pull request already exists for acme:{sent['head']}."
                error = {"resource": "PullRequest", "code": "custom", "message": message}
                return 422, {"message": "Validation Failed", "errors": [error]}, {}
            owner, _, branch = f"acme:{sent['head']}".rpartition(":")
            pull = self.open_pull(branch, sent["title"])
            pull.base, pull.body = sent["base"], sent["body"]
            pull.draft, pull.owner = sent.get("draft", False), owner.rpartition(":")[2]
            return 201, self._row(pull), {}
        if found := re.fullmatch(rf"{base}/(\d+)", asked.path):
            pull = self.pulls[int(found[1]) - 1]
            if asked.method == "PATCH":
                sent = json.loads(asked.body)
                pull.open = pull.open and sent.get("state") != "closed"
                for name in ("title", "body", "base"):
                    setattr(pull, name, sent.get(name, getattr(pull, name)))
            return 200, self._row(pull), {}
        return self._more(asked)

    def _more(self, asked: Asked) -> Reply:
        """Answer what is asked about repositories, checks, reviews and comments."""
        home = f"/api/v3/repos/{self.path}"
        if asked.path == "/api/graphql":
            return self._graph(json.loads(asked.body))
        if asked.path == home:
            above = {"full_name": self.parent} if self.parent else None
            return 200, {"private": self.private, "parent": above}, {}
        rest = asked.path.removeprefix(home)
        if found := re.fullmatch(r"/commits/(\w+)/(check-runs|status)", rest):
            pull = next(one for one in self.pulls if one.head == found[1])
            if found[2] == "status":
                return 200, {"statuses": []}, {}
            runs = [
                {"name": n, "status": "completed", "conclusion": c} for n, c in pull.checks.items()
            ]
            return 200, {"check_runs": runs}, {}
        if found := re.fullmatch(r"/(pulls|issues)/(\d+)/(reviews|comments)", rest):
            pull = self.pulls[int(found[2]) - 1]
            if found[3] == "reviews":
                rows = [{"user": {"login": a}, "state": s} for a, s in pull.reviews.items()]
                return 200, rows, {}
            rows = [
                {
                    "id": number,
                    "user": {"login": one.author},
                    "author_association": "MEMBER" if one.writer else "NONE",
                    "body": one.body,
                    **({"path": one.path} if one.path else {}),
                }
                for number, one in enumerate(pull.comments)
                if (one.path is not None) == (found[1] == "pulls")
            ]
            return 200, rows, {}
        return 404, {"message": "Not Found"}, {}

    def _graph(self, asked: dict[str, Any]) -> Reply:
        if "mutation" in asked["query"]:
            pull = self.pulls[int(asked["variables"]["id"]) - 1]
            pull.draft = "convertPullRequestToDraft" in asked["query"]
            return 200, {"data": {"done": {}}}, {}
        pull = self.pulls[asked["variables"]["number"] - 1]
        nodes = [
            {"isResolved": one.resolved, "comments": {"nodes": [{"databaseId": number}]}}
            for number, one in enumerate(pull.comments)
            if one.path
        ]
        threads = {"reviewThreads": {"nodes": nodes}}
        return 200, {"data": {"repository": {"pullRequest": threads}}}, {}

    def _row(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number,
            "node_id": str(pull.number),
            "draft": pull.draft,
            "mergeable": pull.mergeable,
            "body": pull.body,
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
        if asked.path == f"/api/v4/projects/{project}" and asked.method == "GET":
            path = unquote(project)
            above = {"path_with_namespace": self.parent} if self.parent else None
            number = 7 if path == self.path else 8
            seen = "private" if self.private else "public"
            return 200, {"id": number, "visibility": seen, "forked_from_project": above}, {}
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
            sent = json.loads(asked.body)
            pull.open = pull.open and sent.get("state_event") != "close"
            names = {"title": "title", "description": "body", "target_branch": "base"}
            for theirs, ours in names.items():
                setattr(pull, ours, sent.get(theirs, getattr(pull, ours)))
            return 200, self._row(pull), {}
        return self._more(asked.path.removeprefix(f"/api/v4/projects/{project}"))

    def _more(self, rest: str) -> Reply:
        """Answer what is asked about checks, reviews and comments."""
        if found := re.fullmatch(r"/repository/commits/(\w+)/statuses", rest):
            pull = next(one for one in self.pulls if one.head == found[1])
            return 200, [{"name": n, "status": s} for n, s in pull.checks.items()], {}
        if found := re.fullmatch(r"/members/all/(\w+)", rest):
            level = {"access_level": 40} if found[1] != "stranger" else None
            return (200, level, {}) if level else (404, {"message": "404 Not found"}, {})
        if found := re.fullmatch(r"/merge_requests/(\d+)(/approvals|/discussions)?", rest):
            pull = self.pulls[int(found[1]) - 1]
            if found[2] == "/approvals":
                by = [{"user": {"username": name}} for name in pull.reviews]
                return 200, {"approved_by": by}, {}
            if found[2] == "/discussions":
                notes = [
                    {
                        "author": {"id": one.author, "username": one.author},
                        "body": one.body,
                        "resolvable": one.path is not None,
                        "resolved": one.resolved,
                        **({"position": {"new_path": one.path}} if one.path else {}),
                    }
                    for one in pull.comments
                ]
                return 200, [{"notes": [note]} for note in notes], {}
            return 200, self._row(pull), {}
        return 404, {"message": "404 Not Found"}, {}

    def _row(self, pull: Pull) -> dict[str, Any]:
        state = "opened" if pull.open else "merged" if pull.merged else "closed"
        return {
            "iid": pull.number,
            "title": pull.title,
            "description": pull.body,
            "detailed_merge_status": "mergeable" if pull.mergeable else "conflict",
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
            owner, _, branch = sent["head"].rpartition(":")
            pull = self.open_pull(branch, sent["title"])
            pull.base, pull.body, pull.owner = sent["base"], sent["body"], owner or "acme"
            return 201, self._row(pull), {}
        if found := re.fullmatch(rf"{base}/(\d+)", asked.path):
            pull = self.pulls[int(found[1]) - 1]
            if asked.method == "PATCH":
                sent = json.loads(asked.body)
                pull.open = pull.open and sent.get("state") != "closed"
                for name in ("title", "body", "base"):
                    setattr(pull, name, sent.get(name, getattr(pull, name)))
            return (200 if asked.method == "GET" else 201), self._row(pull), {}
        return self._more(asked.path.removeprefix(f"/api/v1/repos/{self.path}"))

    def _more(self, rest: str) -> Reply:
        """Answer what is asked about the repository, one request, checks and comments."""
        if rest == "":
            above = {"full_name": self.parent} if self.parent else None
            return 200, {"private": self.private, "parent": above}, {}
        if found := re.fullmatch(r"/commits/(\w+)/status", rest):
            pull = next(one for one in self.pulls if one.head == found[1])
            told = [{"context": n, "status": s} for n, s in pull.checks.items()]
            return 200, {"statuses": told}, {}
        if found := re.fullmatch(r"/collaborators/(\w+)/permission", rest):
            return 200, {"permission": "read" if found[1] == "stranger" else "write"}, {}
        if found := re.fullmatch(r"/(pulls|issues)/(\d+)/(reviews|comments)(/1/comments)?", rest):
            pull = self.pulls[int(found[2]) - 1]
            at_files = [one for one in pull.comments if one.path]
            if found[3] == "reviews" and not found[4]:
                rows: list[dict[str, Any]] = [
                    {"id": 1, "user": {"login": a}, "state": s} for a, s in pull.reviews.items()
                ]
                return 200, [*rows, {"id": 1, "comments_count": len(at_files)}], {}
            shown = at_files if found[4] else [one for one in pull.comments if not one.path]
            return 200, [self._note(one) for one in shown], {}
        if found := re.fullmatch(r"/pulls/(.+?)/((?:\w+:)?(?:feature|fix)/.+)", rest):
            owner, _, branch = found[2].rpartition(":")
            pairs = (one for one in self.listed() if (one.base, one.branch) == (found[1], branch))
            one = next((one for one in pairs if owner in ("", one.owner)), None)
            return (200, self._row(one), {}) if one else (404, {"message": "Not Found"}, {})
        return 404, {"message": "Not Found"}, {}

    def _note(self, one: Said) -> dict[str, Any]:
        resolver = {"login": "ann"} if one.resolved else None
        return {
            "user": {"login": one.author},
            "body": one.body,
            "resolver": resolver,
            **({"path": one.path} if one.path else {}),
        }

    def _row(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number,
            "title": pull.title,
            "body": pull.body,
            "mergeable": pull.mergeable,
            "html_url": f"{self.url}/{self.path}/pulls/{pull.number}",
            "state": "open" if pull.open else "closed",
            "merged": pull.merged,
            "head": {"ref": pull.branch, "sha": pull.head, "repo": {"full_name": self.path}},
            "base": {"ref": pull.base},
        }


FORGES = (GitHub, GitLab, Gitea)
