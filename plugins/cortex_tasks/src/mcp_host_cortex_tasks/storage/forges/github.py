"""Pull requests on GitHub and GitHub Enterprise."""

from ...errors import RefusedError
from .forge import ALREADY_THERE, Fields, Forge
from .request import PullRequest


class GitHub(Forge):
    """See `Forge`."""

    name = "GitHub"
    token_key = "github_token"  # noqa: S105  a setting's name

    def of_branch(self, branch: str) -> list[PullRequest]:
        """See `Forge`. Without the owner, GitHub would ignore the filter."""
        owner = self._path.split("/")[0]
        query = {"head": f"{owner}:{branch}", "state": "all", "per_page": "100"}
        rows = self._pages(f"repos/{self._path}/pulls", query)
        return [self._read(row) for row in rows if row.get("head", {}).get("ref") == branch]

    def _create(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        fields = {"title": title, "head": branch, "base": base, "body": body}
        try:
            return self._item(self._call("POST", f"repos/{self._path}/pulls", fields))
        except RefusedError as error:
            if "already exists" in error.message:  # GitHub has no code for it but 422
                raise RefusedError(error.message, reason=ALREADY_THERE) from None
            raise

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._call("PATCH", f"repos/{self._path}/pulls/{number}", {"state": "closed"})

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
        )
