"""Who uses a backend, and where they belong: logins, users, projects, organizations."""

from collections.abc import Mapping

from ...errors import InvalidError, LoginNeededError
from ...model.parsing import bad_answer, parse_user
from ...model.task import User
from .backend import Backend


def log_in(url: str, email: str, password: str, *, timeout: float = 20) -> str:
    """Return a new token of the backend for this user; `LoginNeededError` for a wrong password."""
    form = {"username": email, "password": password}
    try:
        answer = Backend(url, timeout=timeout).call("POST", "login/access-token", form=form)
    except InvalidError as error:
        if error.details.get("status") != 400:
            raise
        raise LoginNeededError(
            error.message,
            reason="wrong_password",
            suggestions=["ctx auth login", "Without a user yet: ctx auth login --register"],
            details=error.details,
        ) from None
    token = answer.get("access_token") if isinstance(answer, Mapping) else None
    if not isinstance(token, str) or not token:
        raise bad_answer("the login holds no access_token")
    return token


def register(url: str, username: str, email: str, password: str, *, timeout: float = 20) -> User:
    """Make a user of the backend."""
    fields = {"username": username, "email": email, "password": password}
    return parse_user(Backend(url, timeout=timeout).call("POST", "users/", fields))


def project_ids(url: str, token: str, *, timeout: float = 20) -> list[int]:
    """Return the projects that the owner of the token can see."""
    rows = Backend(url, token, timeout=timeout).call("GET", "projects/")
    found = (
        [row.get("id") for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, list)
        else []
    )
    return [number for number in found if isinstance(number, int)]


def projects(backend: Backend) -> list[dict[str, object]]:
    """Return the projects that the caller can see, each with its number and name."""
    rows = backend.call("GET", "projects/")
    if not isinstance(rows, list):
        raise bad_answer("the projects should be an array")
    return [_project(row) for row in rows]


def make_project(backend: Backend, name: str) -> dict[str, object]:
    """Make a project in the caller's organization."""
    organization = backend.call("GET", "users/me")
    home = organization.get("organization_id") if isinstance(organization, Mapping) else None
    fields = {"name": name, **({"organization_id": home} if home else {})}
    return _project(backend.call("POST", "projects/", fields))


def make_organization(backend: Backend, name: str) -> None:
    """Make an organization and let the caller belong to it."""
    made = backend.call("POST", "organizations/", {"name": name})
    me = backend.call("GET", "users/me")
    number = made.get("id") if isinstance(made, Mapping) else None
    if number is not None and isinstance(me, Mapping) and me.get("organization_id") != number:
        backend.call("PUT", "users/me", {"organization_id": number})


def _project(row: object) -> dict[str, object]:
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), int):
        raise bad_answer("a project should be an object with its number")
    return {"id": row["id"], "name": str(row.get("name") or "")}
