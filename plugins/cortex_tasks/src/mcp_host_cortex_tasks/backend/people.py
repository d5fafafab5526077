"""Login, users and organizations."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.security import OAuth2PasswordRequestForm
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from .access import Caller, Database
from .logins import Failures, Passwords, Tokens
from .shapes import (
    ChangedUser,
    NewNamed,
    NewUser,
    OrganizationOut,
    RenewedUser,
    Token,
    UserOut,
)
from .tables import Organization, Project, ProjectMember, UserRow


def make_router(passwords: Passwords, tokens: Tokens, *, registration: bool) -> APIRouter:
    """Return the routes about people."""
    router = APIRouter()
    failures = Failures()

    @router.post("/login/access-token")
    def log_in(
        request: Request, session: Database, form: Annotated[OAuth2PasswordRequestForm, Depends()]
    ) -> Token:
        email = form.username.strip().lower()
        who = f"{request.client.host if request.client else ''} {email}"
        if wait := failures.wait(who):
            raise HTTPException(429, "Too many failed logins", headers={"Retry-After": str(wait)})
        user = session.scalar(select(UserRow).where(UserRow.email == email))
        owner, kept = (user.id, user.password_hash) if user else (None, None)
        session.rollback()  # hashing is slow: nobody waits for it with the database locked
        if not passwords.fits(form.password, kept) or owner is None or kept is None:
            failures.failed(who)
            raise HTTPException(400, "Incorrect email or password")
        return Token(access_token=tokens.make(owner, kept))

    @router.post("/users/")
    def register(session: Database, new: NewUser) -> UserOut:
        if not registration:
            raise HTTPException(403, "Registration is closed")
        session.rollback()
        kept = passwords.hash(new.password)
        organization = _organization(session, new)
        now = datetime.now(UTC)
        user = UserRow(
            username=new.username,
            email=new.email.lower(),
            password_hash=kept,
            organization_id=organization,
            created_at=now,
        )
        session.add(user)
        _commit(session)
        if new.organization_id is None:
            _own(session, user)
        return UserOut.model_validate(user)

    @router.get("/users/me")
    def read_me(me: Caller) -> UserOut:
        return UserOut.model_validate(me)

    @router.put("/users/me")
    def change_me(session: Database, me: Caller, changed: ChangedUser) -> RenewedUser | UserOut:
        if changed.password is not None and changed.old_password is None:
            raise HTTPException(400, "Old password is required")
        if changed.password is not None and not passwords.fits(
            changed.old_password or "", me.password_hash
        ):
            raise HTTPException(400, "Incorrect old password")
        if changed.username is not None:
            me.username = changed.username
        if changed.email is not None:
            me.email = changed.email.lower()
        if changed.password is not None:
            me.password_hash = passwords.hash(changed.password)
        _commit(session)
        shown = UserOut.model_validate(me)
        if changed.password is None:
            return shown
        token = tokens.make(me.id, me.password_hash)  # theirs ended with the old password
        return RenewedUser(**shown.model_dump(), access_token=token)

    _add_organizations(router)
    return router


def _add_organizations(router: APIRouter) -> None:
    @router.get("/organizations/")
    def read_organizations(session: Database, me: Caller) -> list[OrganizationOut]:
        mine = session.get(Organization, me.organization_id) if me.organization_id else None
        return [OrganizationOut.model_validate(mine)] if mine else []

    @router.post("/organizations/")
    def make_organization(session: Database, me: Caller, new: NewNamed) -> OrganizationOut:
        if me.organization_id is not None:
            raise HTTPException(409, "You belong to an organization already")
        made = Organization(name=new.name)
        session.add(made)
        session.flush()
        me.organization_id = made.id
        session.commit()
        return OrganizationOut.model_validate(made)


def _organization(session: Session, new: NewUser) -> int:
    """Return the organization to join, or a new one of one's own with a project to begin in."""
    if new.organization_id is not None:
        if session.get(Organization, new.organization_id) is None:
            raise HTTPException(404, "Organization not found")
        return new.organization_id
    own = Organization(name=new.username)
    session.add(own)
    session.flush()
    session.add(Project(name="Default", organization_id=own.id, created_at=datetime.now(UTC)))
    return own.id


def _own(session: Session, user: UserRow) -> None:
    """Make a user the owner of the project that they begin in."""
    mine = Project.organization_id == user.organization_id
    for project in session.scalars(select(Project).where(mine)):
        session.add(ProjectMember(project_id=project.id, user_id=user.id, owner=True))
    session.commit()


def _commit(session: Session) -> None:
    try:
        session.commit()
    except IntegrityError:
        session.rollback()
        raise HTTPException(409, "There is a user with this e-mail already") from None
