"""Pull requests on Gitea and Forgejo."""

from ...errors import RefusedError
from .forge import ALREADY_THERE, Fields, Forge
from .request import PullRequest


class Gitea(Forge):
    """See `Forge`."""

    name = "Gitea"
    token_key = "gitea_token"  # noqa: S105  a setting's name

    def _login(self, token: str) -> dict[str, str]:
        return {"Authorization": f"token {token}"}

    def of_branch(self, branch: str) -> list[PullRequest]:
        """See `Forge`. Gitea cannot filter by branch: the lately touched ones come first."""
        query = {"state": "all", "sort": "recentupdate", "limit": "50"}
        rows = self._pages(f"repos/{self._path}/pulls", query)
        return [self._read(row) for row in rows if self._is_from(row, branch)]

    def _create(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        fields = {"title": title, "head": branch, "base": base, "body": body}
        try:
            return self._item(self._call("POST", f"repos/{self._path}/pulls", fields))
        except RefusedError as error:
            if error.details.get("status") == 409:
                raise RefusedError(error.message, reason=ALREADY_THERE) from None
            raise

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._call("PATCH", f"repos/{self._path}/pulls/{number}", {"state": "closed"})

    def _is_from(self, row: Fields, branch: str) -> bool:
        head = row.get("head") or {}
        home = (head.get("repo") or {}).get("full_name")
        # Once a merged branch is deleted, `ref` is refs/pull/N/head, and only `label` has its name.
        names = (head.get("ref"), str(head.get("label") or "").rpartition(":")[2])
        return branch in names and (home is None or home.lower() == self._path.lower())

    def _parse(self, data: Fields) -> PullRequest:
        return PullRequest(
            number=int(data["number"]),
            url=str(data["html_url"]),
            head=str(data["head"]["sha"]),
            base=str(data["base"]["ref"]),
            open=data["state"] == "open",
            merged=bool(data.get("merged")),
            landed=data.get("merge_commit_sha"),
            refs=(f"refs/pull/{data['number']}/head",),
        )
