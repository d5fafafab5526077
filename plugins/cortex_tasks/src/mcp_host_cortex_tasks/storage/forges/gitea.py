"""Pull requests on Gitea and Forgejo."""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from ...errors import NotFoundError
from .forge import SHOWN_TEXT, Forge, given, marked, shown, state_of
from .request import Feedback, PullRequest, Remark
from .speaking import Fields

_DRAFT = "WIP: "


class Gitea(Forge):
    """See `Forge`."""

    name = "Gitea"
    token_key = "gitea_token"  # noqa: S105  a setting's name

    def _login(self, token: str) -> dict[str, str]:
        return {"Authorization": f"token {token}"}

    def of_branch(self, branch: str, base: str | None = None) -> list[PullRequest]:
        """See `Forge`. One request is found by its base and head; a list has no such filter."""
        if base is not None and (one := self._between(base, branch)) is not None:
            return [one]
        query = {"state": "all", "sort": "recentupdate", "limit": "50"}
        rows = self._pages(f"repos/{self._path}/pulls", query)
        return [self._read(row) for row in rows if self._is_from(row, branch)]

    def _between(self, base: str, branch: str) -> PullRequest | None:
        """Return the request from a branch to a base, where that is open or was merged."""
        head = quote(self._head_of(branch), safe=":/")
        try:
            found = self._item(self._call("GET", f"repos/{self._path}/pulls/{quote(base)}/{head}"))
        except NotFoundError:
            return None
        return found if found.open or found.merged else None

    def _create(self, branch: str, base: str, title: str, body: str, *, draft: bool) -> PullRequest:
        shown_title = f"{_DRAFT}{title}" if draft else title
        fields = {"title": shown_title, "head": self._head_of(branch), "base": base, "body": body}
        return self._opened(f"repos/{self._path}/pulls", fields)

    def close(self, number: int) -> None:
        """See `Forge`."""
        self._change(number, {"state": "closed"})

    def _change(self, number: int, fields: Mapping[str, str | None]) -> None:
        """Change what is given of a request, where anything is."""
        if changed := given(fields):
            self._call("PATCH", f"repos/{self._path}/pulls/{number}", changed)

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
            {"title": marked(request, _DRAFT, title, draft), "body": body, "base": base},
        )

    def parent(self) -> str | None:
        """See `Forge`."""
        above = (self._get(f"repos/{self._path}") or {}).get("parent")
        return str(above["full_name"]) if isinstance(above, dict) else None

    def _feedback(self, request: PullRequest, *, everybody: bool) -> Feedback:
        home = f"repos/{self._path}"
        place = f"{home}/pulls/{request.number}"
        public = (self._get(home) or {}).get("private") is not True
        now = self._get(place) or {}
        told = (self._get(f"{home}/commits/{request.head}/status") or {}).get("statuses") or []
        checks = [(str(one["context"]), state_of(one["status"])) for one in told]
        rows = self._rows(f"{place}/reviews?limit=50")
        reviews = {
            str(row["user"]["login"]): str(row["state"]).lower()
            for row in rows
            if row.get("user") and row.get("state") not in ("COMMENT", "PENDING")
        }
        notes = [
            *self._line_notes(place, rows),
            *self._rows(f"{home}/issues/{request.number}/comments"),
        ]
        remarks = [self._remark(note) for note in notes]
        comments, hidden = shown(remarks, public=public, everybody=everybody)
        return Feedback(
            tuple(checks), tuple(reviews.items()), comments, hidden, now.get("mergeable")
        )

    def _line_notes(self, place: str, reviews: list[Fields]) -> Iterator[Fields]:
        for row in reviews:
            if row.get("comments_count"):
                for note in self._rows(f"{place}/reviews/{row['id']}/comments"):
                    if not note.get("resolver"):
                        yield note

    def _remark(self, note: Fields) -> Remark:
        author = str(note["user"]["login"])
        text = str(note.get("body") or "")[:SHOWN_TEXT]
        return Remark(author, self._right(author), text, note.get("path"))

    def _right(self, author: str) -> str:
        known = self.__dict__.setdefault("_rights", {})
        if author not in known:
            place = f"repos/{self._path}/collaborators/{quote(author)}/permission"
            told = (self._get(place) or {}).get("permission")
            known[author] = "write" if told in ("owner", "admin", "write") else "read"
        return str(known[author])

    def _is_from(self, row: Fields, branch: str) -> bool:
        head = row.get("head") or {}
        home = (head.get("repo") or {}).get("full_name")
        # Once a merged branch is deleted, `ref` is refs/pull/N/head, and only `label` has its name.
        names = (head.get("ref"), str(head.get("label") or "").rpartition(":")[2])
        return branch in names and (home is None or home.lower() == self._head.lower())

    def _parse(self, data: Fields) -> PullRequest:
        title = str(data.get("title") or "")
        return PullRequest(
            number=int(data["number"]),
            url=str(data["html_url"]),
            head=str(data["head"]["sha"]),
            base=str(data["base"]["ref"]),
            open=data["state"] == "open",
            merged=bool(data.get("merged")),
            landed=data.get("merge_commit_sha"),
            refs=(f"refs/pull/{data['number']}/head",),
            title=title.removeprefix(_DRAFT),
            body=str(data.get("body") or ""),
            draft=title.startswith(_DRAFT),
        )
