"""Projects, who is in them, who there is, and how the work stands."""

from collections import Counter
from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from .access import Caller, Database, may_see, project_for
from .shapes import NewMember, NewNamed, Overview, ProjectOut, Said, UserOut
from .tables import Project, ProjectMember, TaskRow, UserRow

FOUND_AT_MOST = 20


def make_router() -> APIRouter:
    """Return the routes about projects, members, the search for users, and reports."""
    router = APIRouter()
    _add_projects(router)
    _add_changes(router)
    _add_members(router)
    _add_search(router)
    return router


def _add_projects(router: APIRouter) -> None:
    @router.get("/projects/")
    def read_projects(session: Database, me: Caller) -> list[ProjectOut]:
        mine = Project.organization_id == me.organization_id
        rows = session.scalars(select(Project).where(mine).order_by(Project.id))
        return [_shown(session, row) for row in rows]

    @router.post("/projects/")
    def make_project(session: Database, me: Caller, new: NewNamed) -> ProjectOut:
        if me.organization_id is None:
            raise HTTPException(400, "You belong to no organization")
        if new.organization_id not in (None, me.organization_id):
            raise HTTPException(403, "No access to organization")
        made = Project(
            name=new.name,
            description=new.description,
            organization_id=me.organization_id,
            created_at=datetime.now(UTC),
        )
        session.add(made)
        session.flush()
        session.add(ProjectMember(project_id=made.id, user_id=me.id, owner=True))
        session.commit()
        return _shown(session, made)

    @router.get("/projects/{project_id}")
    def read_project(session: Database, me: Caller, project_id: int) -> ProjectOut:
        return _shown(session, project_for(session, me, project_id))


def _add_changes(router: APIRouter) -> None:
    @router.patch("/projects/{project_id}")
    def change_project(session: Database, me: Caller, project_id: int, new: NewNamed) -> ProjectOut:
        project = project_for(session, me, project_id)
        project.name = new.name
        project.description = new.description
        session.commit()
        return _shown(session, project)

    @router.delete("/projects/{project_id}")
    def delete_project(session: Database, me: Caller, project_id: int) -> ProjectOut:
        project = project_for(session, me, project_id)
        tasks = select(func.count()).select_from(TaskRow).where(TaskRow.project_id == project_id)
        if session.scalar(tasks):
            raise HTTPException(409, "The project has tasks")
        shown = _shown(session, project)
        for row in _rows(session, project_id):
            session.delete(row)
        session.flush()
        session.delete(project)
        session.commit()
        return shown


def _add_members(router: APIRouter) -> None:
    @router.get("/projects/{project_id}/members")
    def read_members(session: Database, me: Caller, project_id: int) -> list[UserOut]:
        project_for(session, me, project_id)
        return _members(session, project_id)

    @router.post("/projects/{project_id}/members")
    def add_member(session: Database, me: Caller, project_id: int, new: NewMember) -> Said:
        project_for(session, me, project_id)
        user = session.get(UserRow, new.user_id)
        if user is None or user.organization_id != me.organization_id:
            raise HTTPException(404, "User not found")
        if session.get(ProjectMember, (project_id, user.id)) is None:
            session.add(ProjectMember(project_id=project_id, user_id=user.id, owner=False))
            session.commit()
        return Said(message="Member added")

    @router.delete("/projects/{project_id}/members/{user_id}")
    def remove_member(session: Database, me: Caller, project_id: int, user_id: int) -> Said:
        project_for(session, me, project_id)
        row = session.get(ProjectMember, (project_id, user_id))
        if row is None:
            raise HTTPException(404, "Member not found")
        if row.owner:
            raise HTTPException(400, "The owner cannot be removed")
        session.delete(row)
        session.commit()
        return Said(message="Member removed")


def _add_search(router: APIRouter) -> None:
    @router.get("/users/search")
    def search_users(
        session: Database, me: Caller, q: Annotated[str, Query(max_length=320)] = ""
    ) -> list[UserOut]:
        """Of one's own organization alone: the search tells nobody who else is here."""
        if me.organization_id is None:
            return [UserOut.model_validate(me)] if q in me.email + me.username else []
        said = or_(
            UserRow.email.contains(q.lower(), autoescape=True),
            UserRow.username.contains(q, autoescape=True),
        )
        wanted = select(UserRow).where(UserRow.organization_id == me.organization_id, said)
        rows = session.scalars(wanted.order_by(UserRow.id).limit(FOUND_AT_MOST))
        return [UserOut.model_validate(row) for row in rows]

    @router.get("/reports/overview")
    def read_overview(session: Database, me: Caller) -> Overview:
        wanted = select(TaskRow).where(TaskRow.deleted_at.is_(None), may_see(me))
        tasks = session.scalars(wanted).all()
        today = date.today()
        late = [one for one in tasks if one.deadline and one.deadline < today]
        return Overview(
            total=len(tasks),
            by_status=dict(Counter(one.status for one in tasks)),
            by_priority=dict(Counter(one.priority for one in tasks)),
            overdue=sum(one.status != "DONE" for one in late),
        )


def _shown(session: Session, project: Project) -> ProjectOut:
    owner = next((row.user_id for row in _rows(session, project.id) if row.owner), None)
    return ProjectOut(
        id=project.id,
        name=project.name,
        description=project.description,
        organization_id=project.organization_id,
        owner_id=owner,
        members=_members(session, project.id),
        created_at=project.created_at,
    )


def _rows(session: Session, project_id: int) -> list[ProjectMember]:
    wanted = select(ProjectMember).where(ProjectMember.project_id == project_id)
    return list(session.scalars(wanted.order_by(ProjectMember.user_id)))


def _members(session: Session, project_id: int) -> list[UserOut]:
    users = (session.get(UserRow, row.user_id) for row in _rows(session, project_id))
    return [UserOut.model_validate(user) for user in users if user is not None]
