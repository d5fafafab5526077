"""The handle of a pack, where its side lives: what a pack says goes through its mailbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..declarations.handle import PackHandle, PackSkill
from ..packs.conditions import Condition
from ..packs.declared import Declared
from ..packs.naming import Naming
from .bounds import text
from .mailbox import Mailbox
from .offers import Offers
from .programs import ProgramRunner


def pack_handle(
    declared: Declared,
    naming: Naming,
    offers: Offers,
    mailbox: Mailbox,
    folders: tuple[Path, Path],
    *,
    watched: Callable[[], frozenset[str]],
    skills: Callable[[], Sequence[PackSkill]],
    secret_variables: Callable[[], frozenset[str]],
) -> PackHandle:
    """Make the handle; `folders` are for the pack's data, and for what may be lost.

    `watched`, `skills` and `secret_variables` tell how things are now.
    """

    def degraded(code: str, reason: str, remedy: str) -> None:
        mailbox.report(Condition("degraded", text(code, 64), text(reason), text(remedy)))

    return PackHandle(
        declared.name,
        changed=mailbox.changed,
        lists_changed=mailbox.lists_changed,
        offer=offers.offer,
        withdraw=offers.withdraw,
        watched=watched,
        skills=skills,
        degraded=degraded,
        recovered=lambda: mailbox.report(None),
        public_name=naming.public_tool,
        folders=folders,
        programs=ProgramRunner(secret_variables, tuple(declared.needs.child_environment)),
    )
