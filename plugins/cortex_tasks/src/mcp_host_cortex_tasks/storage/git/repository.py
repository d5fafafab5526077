"""What the parts of this folder use of a checkout, which is made of them."""

from pathlib import Path
from typing import Protocol

from .process import Answer, Asking
from .states import Worktree


class Repository(Protocol):
    """One working tree and its git; `Checkout` tells what each of these does."""

    root: Path
    common: Path
    private: Path
    reach_limit: float
    hook_limit: float

    @property
    def remote_names(self) -> list[str]: ...
    @property
    def asking(self) -> Asking: ...
    @property
    def unattended(self) -> dict[str, str]: ...

    def run(
        self,
        *arguments: str,
        limit: float = ...,
        at: Path | None = None,
        given: str | None = None,
        more: dict[str, str] | None = None,
        asking: Asking | None = None,
    ) -> Answer: ...
    def config(self, key: str) -> str | None: ...
    def commit_of(self, name: str, *, at: Path | None = None) -> str | None: ...
    def worktrees(self) -> list[Worktree]: ...
