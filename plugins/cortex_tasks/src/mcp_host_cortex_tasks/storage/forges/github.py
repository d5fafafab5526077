"""Pull requests on GitHub and GitHub Enterprise."""

from typing import Any

from ...errors import CortexError, RefusedError
from .forge import SHOWN_TEXT, Forge, given, shown, state_of
from .request import Feedback, PullRequest, Remark
from .speaking import Fields

_WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")
_THREADS = """query($owner: String!, $name: String!, $number: Int!) {
 repository(owner: $owner, name: $name) { pullRequest(number: $number) {
  reviewThreads(first: 100) { nodes { isResolved comments(first: 1) { nodes { databaseId } } } } } }
}"""
_DRAFT = "mutation($id: ID!) {{ {0}(input: {{pullRequestId: $id}}) {{ clientMutationId }} }}"


class GitHub(Forge):
    """See `Forge`."""

    name = "GitHub"
    token_key = "github_token"  # noqa: S105  a setting's name

    def of_branch(self, branch: str, base: str | None = None) -> list[PullRequest]:
        """See `Forge`. Without the owner, GitHub would ignore the filter."""
        owner = self._head.split("/")[0]
        query = {"head": f"{owner}:{branch}", "state": "all", "per_page": "100"}
        rows = self._pages(f"repos/{self._path}/pulls", query)
        return [self._read(row) for row in rows if row.get("head", {}).get("ref") == branch]

    def _create(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        fields = {"title": title, "head": self._head_of(branch), "base": base, "body": body}
        sent = {**fields, "draft": True} if draft else fields
        return self._opened(f"repos/{self._path}/pulls", sent)

    def _is_there_already(self, error: RefusedError) -> bool:
        return "already exists" in error.message  # GitHub has no code for it but 422

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._call("PATCH", f"repos/{self._path}/pulls/{number}", {"state": "closed"})

    def update(
        self,
        request: PullRequest,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        draft: bool | None = None,
    ) -> None:
        """See `Forge`. Only GraphQL can make a draft ready."""
        if fields := given({"title": title, "body": body, "base": base}):
            self._call("PATCH", f"repos/{self._path}/pulls/{request.number}", fields)
        if draft is not None and draft != request.draft:
            how = "convertPullRequestToDraft" if draft else "markPullRequestReadyForReview"
            self._ask_graph(_DRAFT.format(how), {"id": request.id})

    def parent(self) -> str | None:
        """See `Forge`."""
        above = (self._get(f"repos/{self._path}") or {}).get("parent")
        return str(above["full_name"]) if isinstance(above, dict) else None

    def _feedback(self, request: PullRequest, *, everybody: bool) -> Feedback:
        home = f"repos/{self._path}"
        public = (self._get(home) or {}).get("private") is not True
        now = self._get(f"{home}/pulls/{request.number}") or {}
        runs = self._get(f"{home}/commits/{request.head}/check-runs?per_page=100") or {}
        states = self._get(f"{home}/commits/{request.head}/status") or {}
        checks = [
            (str(run["name"]), state_of(run.get("conclusion") or run.get("status")))
            for run in runs.get("check_runs", ())
        ]
        checks += [
            (str(one["context"]), state_of(one["state"])) for one in states.get("statuses", ())
        ]
        reviews = {
            str(row["user"]["login"]): str(row["state"]).lower()
            for row in self._rows(f"{home}/pulls/{request.number}/reviews?per_page=100")
            if row.get("state") not in ("COMMENTED", "PENDING")
        }
        lines = self._rows(f"{home}/pulls/{request.number}/comments?per_page=100")
        talk = self._rows(f"{home}/issues/{request.number}/comments?per_page=100")
        resolved = self._resolved(request.number) if lines else set()
        roots = {row["id"]: row.get("in_reply_to_id") or row["id"] for row in lines}
        left = [row for row in lines if roots[row["id"]] not in resolved]
        comments, hidden = shown(
            [_remark(row) for row in (*left, *talk)], public=public, everybody=everybody
        )
        return Feedback(
            tuple(checks), tuple(reviews.items()), comments, hidden, now.get("mergeable")
        )

    def _resolved(self, number: int) -> set[int]:
        """Return the first comments of the threads that are resolved; REST does not tell."""
        owner, name = self._path.split("/", 1)
        try:
            told = self._ask_graph(_THREADS, {"owner": owner, "name": name, "number": number})
        except CortexError:
            return set()  # then all of them are shown
        nodes = told["repository"]["pullRequest"]["reviewThreads"]["nodes"]
        return {
            one["comments"]["nodes"][0]["databaseId"]
            for one in nodes
            if one["isResolved"] and one["comments"]["nodes"]
        }

    def _ask_graph(self, query: str, values: Fields) -> Any:
        enterprise = self._api.rstrip("/").endswith("/api/v3")
        place = self._api.rstrip("/").removesuffix("/v3") if enterprise else self._api.rstrip("/")
        body = {"query": query, "variables": values}
        answer = self._data(self._call("POST", f"{place}/graphql", body))
        if not isinstance(answer, dict) or answer.get("errors") or not answer.get("data"):
            raise self._nonsense("GraphQL was not answered")
        return answer["data"]

    def _parse(self, data: Fields) -> PullRequest:
        return PullRequest(
            number=int(data["number"]),
            url=str(data["html_url"]),
            head=str(data["head"]["sha"]),
            base=str(data["base"]["ref"]),
            open=data["state"] == "open",
            merged=bool(data.get("merged_at")),
            landed=data.get("merge_commit_sha") if data.get("merged_at") else None,
            refs=(f"refs/pull/{data['number']}/head",),
            title=str(data.get("title") or ""),
            body=str(data.get("body") or ""),
            draft=bool(data.get("draft")),
            id=str(data.get("node_id") or ""),
        )


def _remark(row: Fields) -> Remark:
    right = "write" if row.get("author_association") in _WRITERS else "read"
    text = str(row.get("body") or "")[:SHOWN_TEXT]
    return Remark(str((row.get("user") or {}).get("login")), right, text, row.get("path"))
