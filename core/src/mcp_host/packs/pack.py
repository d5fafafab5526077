"""One pack of the settings file, and how it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..settings.tables import PackTable
from .conditions import LOADING, Condition
from .declared import Declared

if TYPE_CHECKING:
    from .last_ends import LastEnd


class Pack:
    """One pack of the settings file: what is known of it, from loading to closing.

    `condition` is how it is now; the host that opens the pack keeps it up to date. `last_end` is
    how it ended a process of the host; for that it has one of its own now. `declared` is what it
    has declared, `whole` with the instructions and skills that its lock keeps back.
    """

    def __init__(
        self,
        name: str,
        table: PackTable,
        condition: Condition,
        last_end: LastEnd | None = None,
    ) -> None:
        self.name = name
        self.table = table
        self.condition = condition
        self.last_end = last_end
        self.declared: Declared | None = None
        self.whole: Declared | None = None

    @property
    def is_loading(self) -> bool:
        """Whether it is being imported still."""
        return self.condition is LOADING

    @property
    def sentence(self) -> str:
        """How it is, in one sentence for people."""
        condition = self.condition
        text = f"pack {self.name} is {condition.state}"
        if condition.reason:
            text += f": {condition.reason}"
        if condition.remedy:
            text += f" ({condition.remedy})"
        return text

    def report(self) -> dict[str, Any]:
        """What a person wants to know of it, as plain data."""
        about: dict[str, Any] = {"name": self.name, **self.condition.as_data()}
        if self.declared is not None:
            about.update(self.declared.offer.about)
            about["tools"] = len(self.declared.tools)
            about["resources"] = len(self.declared.resources)
            about["prompts"] = len(self.declared.prompts)
            if self.declared.skills.skills:
                about["skills"] = [skill.name for skill in self.declared.skills.skills]
        if self.last_end is not None:
            about["last_end"] = self.last_end.as_data()
        return about
