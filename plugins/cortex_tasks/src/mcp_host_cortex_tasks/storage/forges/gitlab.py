"""Merge requests on GitLab."""

from urllib.parse import quote

from ...errors import RefusedError
from .forge import ALREADY_THERE, Fields, Forge
from .request import PullRequest


class GitLab(Forge):
    """See `Forge`."""

    name = "GitLab"
    token_key = "gitlab_token"  # noqa: S105  a setting's name

    @property
    def _requests(self) -> str:
        return f"projects/{quote(self._path, safe='')}/merge_requests"

    def of_branch(self, branch: str) -> list[PullRequest]:
        """See `Forge`. Those from forks, with a branch of the same name, are left out."""
        query = {"source_branch": branch, "state": "all", "per_page": "100"}
        rows = self._pages(self._requests, query)
        return [
            self._read(row)
            for row in rows
            if row.get("source_branch") == branch
            and row.get("source_project_id") == row.get("target_project_id")
        ]

    def _create(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        fields = {
            "source_branch": branch,
            "target_branch": base,
            "title": title,
            "description": body,
        }
        try:
            return self._item(self._call("POST", self._requests, fields))
        except RefusedError as error:
            if error.details.get("status") == 409:
                raise RefusedError(error.message, reason=ALREADY_THERE) from None
            raise

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._call("PUT", f"{self._requests}/{number}", {"state_event": "close"})

    def _parse(self, data: Fields) -> PullRequest:
        return PullRequest(
            number=int(data["iid"]),
            url=str(data["web_url"]),
            head=str(data.get("sha") or ""),
            base=str(data["target_branch"]),
            open=data["state"] == "opened",
            merged=data["state"] == "merged",
            landed=data.get("squash_commit_sha") or data.get("merge_commit_sha"),
            refs=(f"refs/merge-requests/{data['iid']}/head",),
        )
