"""Merge requests on GitLab."""

from collections.abc import Mapping
from functools import cached_property
from urllib.parse import quote

from .forge import SHOWN_TEXT, Forge, given, marked, shown, state_of
from .request import Feedback, PullRequest, Remark
from .speaking import Fields

_DEVELOPER = 30
_DRAFT = "Draft: "


class GitLab(Forge):
    """See `Forge`."""

    name = "GitLab"
    token_key = "gitlab_token"  # noqa: S105  a setting's name

    @property
    def _project(self) -> str:
        return f"projects/{quote(self._path, safe='')}"

    @property
    def _requests(self) -> str:
        return f"{self._project}/merge_requests"

    @cached_property
    def _head_id(self) -> int | None:
        """The number of the project that branches are pushed to, None where it is this one."""
        if self._head == self._path:
            return None
        return int(self._data(self._call("GET", f"projects/{quote(self._head, safe='')}"))["id"])

    def of_branch(self, branch: str, base: str | None = None) -> list[PullRequest]:
        """See `Forge`. Those from other forks, with a branch of the same name, are left out."""
        query = {"source_branch": branch, "state": "all", "per_page": "100"}
        rows = self._pages(self._requests, query)
        return [
            self._read(row)
            for row in rows
            if row.get("source_branch") == branch
            and row.get("source_project_id") == (self._head_id or row.get("target_project_id"))
        ]

    def _create(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        fields: dict[str, object] = {
            "source_branch": branch,
            "target_branch": base,
            "title": f"{_DRAFT}{title}" if draft else title,
            "description": body,
        }
        place = self._requests
        if self._head_id is not None:
            there = self._data(self._call("GET", self._project))
            fields["target_project_id"] = int(there["id"])
            place = f"projects/{quote(self._head, safe='')}/merge_requests"
        return self._opened(place, fields)

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._change(number, {"state_event": "close"})

    def _change(self, number: int, fields: Mapping[str, str | None]) -> None:
        """Change what is given of a request, where anything is."""
        if changed := given(fields):
            self._call("PUT", f"{self._requests}/{number}", changed)

    def update(
        self,
        request: PullRequest,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        draft: bool | None = None,
    ) -> None:
        """See `Forge`. A draft is one by its title."""
        self._change(
            request.number,
            {
                "title": marked(request, _DRAFT, title, draft),
                "description": body,
                "target_branch": base,
            },
        )

    def parent(self) -> str | None:
        """See `Forge`."""
        above = (self._get(self._project) or {}).get("forked_from_project")
        return str(above["path_with_namespace"]) if isinstance(above, dict) else None

    def _feedback(self, request: PullRequest, *, everybody: bool) -> Feedback:
        public = (self._get(self._project) or {}).get("visibility") != "private"
        place = f"{self._requests}/{request.number}"
        now = self._get(place) or {}
        told = self._rows(
            f"{self._project}/repository/commits/{request.head}/statuses?per_page=100"
        )
        checks = [(str(one["name"]), state_of(one["status"])) for one in told]
        pipeline = now.get("head_pipeline")
        if not checks and isinstance(pipeline, dict):
            checks = [("pipeline", state_of(pipeline.get("status")))]
        approved = (self._get(f"{place}/approvals") or {}).get("approved_by") or []
        reviews = [(str(one["user"]["username"]), "approved") for one in approved]
        notes = [
            note
            for talk in self._rows(f"{place}/discussions?per_page=100")
            for note in talk.get("notes", ())
            if not note.get("system") and not (note.get("resolvable") and note.get("resolved"))
        ]
        remarks = [self._remark(note) for note in notes]
        comments, hidden = shown(remarks, public=public, everybody=everybody)
        return Feedback(tuple(checks), tuple(reviews), comments, hidden, _mergeable(now))

    def _remark(self, note: Fields) -> Remark:
        author = note["author"]
        path = (note.get("position") or {}).get("new_path")
        text = str(note.get("body") or "")[:SHOWN_TEXT]
        return Remark(str(author["username"]), self._right(author.get("id")), text, path)

    def _right(self, user: object) -> str:
        known = self.__dict__.setdefault("_rights", {})
        if user not in known:
            level = (self._get(f"{self._project}/members/all/{user}") or {}).get("access_level", 0)
            known[user] = "write" if int(level) >= _DEVELOPER else "read"
        return str(known[user])

    def _parse(self, data: Fields) -> PullRequest:
        title = str(data.get("title") or "")
        return PullRequest(
            number=int(data["iid"]),
            url=str(data["web_url"]),
            head=str(data.get("sha") or ""),
            base=str(data["target_branch"]),
            open=data["state"] == "opened",
            merged=data["state"] == "merged",
            landed=data.get("squash_commit_sha") or data.get("merge_commit_sha"),
            refs=(f"refs/merge-requests/{data['iid']}/head",),
            title=title.removeprefix(_DRAFT),
            body=str(data.get("description") or ""),
            draft=title.startswith(_DRAFT),
        )


def _mergeable(now: Fields) -> bool | None:
    status = now.get("detailed_merge_status")
    if status in (None, "checking", "unchecked", "preparing"):
        return None
    return bool(status == "mergeable")
