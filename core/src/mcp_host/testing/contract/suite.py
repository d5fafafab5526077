"""The check of a pack as tests to inherit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from .checking import IMPORT_MEBIBYTES, IMPORT_SECONDS, MAX_TOKENS, Stage, check_pack
from .finding import ContractFinding, listed


class PackContract:
    """The tests that every pack should pass: `class TestContract(PackContract): pack = "NAME"`.

    `module` is the plugin module of a pack that is not installed, `settings` are its settings, and
    `prepare` may fill the folder that it works on. `accepted` names rules that are knowingly
    broken, each with its reason: a rule, or a rule and what it is about, such as "names forecast".
    Every tool is called with `fuzz_examples` arguments of each kind.
    """

    pack: ClassVar[str] = ""
    module: ClassVar[str | None] = None
    settings: ClassVar[Mapping[str, Any]] = {}
    accepted: ClassVar[Mapping[str, str]] = {}
    max_tokens: ClassVar[int] = MAX_TOKENS
    import_seconds: ClassVar[float] = IMPORT_SECONDS
    import_mebibytes: ClassVar[float] = IMPORT_MEBIBYTES
    fuzz_examples: ClassVar[int] = 3

    def prepare(self, root: Path) -> None:
        """Fill the folder that the pack works on; empty where it is not overridden."""

    def test_what_it_declares_can_be_served_to_every_client(self) -> None:
        """Hooks, names, descriptions, annotations, schemas, defaults, and what they cost."""
        self._hold(["declared"])

    def test_its_import_is_quick_and_does_nothing_else(self) -> None:
        """Time, memory, standard output, files, network, the process; lists without opening."""
        self._hold(["imported"])

    def test_it_serves_on_whatever_becomes_of_a_call(self) -> None:
        """Cancelled, out of time, refused by a person; what it reads of the environment."""
        self._hold(["running"])

    def test_it_withstands_any_arguments(self) -> None:
        """Valid, nearly valid and hostile ones; the same each time."""
        self._hold([], fuzz=self.fuzz_examples)

    def _hold(self, stages: Sequence[Stage], fuzz: int = 0) -> None:
        __tracebackhide__ = True
        assert self.pack, f"{type(self).__name__}.pack must be the name of a pack"
        found = check_pack(
            self.pack,
            module=self.module,
            settings=self.settings,
            stages=stages,
            fuzz=fuzz,
            repeatable=True,
            max_tokens=self.max_tokens,
            import_seconds=self.import_seconds,
            import_mebibytes=self.import_mebibytes,
            prepare=self.prepare,
        )
        wrong = [one for one in found if one.severity == "error" and not self._accepts(one)]
        assert not wrong, f"{self.pack} breaks the contract:\n{listed(wrong)}"

    def _accepts(self, finding: ContractFinding) -> bool:
        return bool({finding.rule, f"{finding.rule} {finding.where}"} & self.accepted.keys())
