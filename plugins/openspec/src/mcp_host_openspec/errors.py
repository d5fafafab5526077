"""What can go wrong, each with a stable word, the facts, and what to do.

The tree:

    OpenSpecError
    ├── NoTreeError               there is no openspec/ folder yet
    ├── AlreadyInitialisedError   `init` where a tree already is
    ├── InvalidNameError          an id that can name nothing in a tree
    ├── NotFoundError             a well-formed name that names nothing
    ├── ConflictError             something of this name is there already
    ├── AmbiguousError            a name that is both a change and a spec
    ├── OutsideTreeError          a path that leaves the tree
    ├── BadFileError              a file or folder that cannot be used as it is
    │   ├── TooLargeError         … because it has more bytes than are read
    │   └── CannotWriteError      … because the disk refused a write
    ├── RefusedError              an archive that does not go ahead
    │   └── TasksIncompleteError  … because tasks are open
    ├── WithdrawnError            nobody waits for the archive any more
    ├── LockedError               another archive is running
    ├── ChangedError              a file was edited while an archive was under way
    ├── MergeError                a delta that cannot be merged into its spec
    ├── IncompleteError           a document without a section that it must have
    └── FormatError               a file that does not say what it must
        ├── InvalidYamlError      … because it is not YAML
        ├── SchemaError           … because it is not a workflow schema
        └── MetadataError         … because it is not the metadata of a change
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class OpenSpecError(Exception):
    """The base: `message` says what is wrong, `reason` is the stable word for it, `suggestions` say
    what to do, and `details` are the facts."""

    reason = "openspec_error"

    def __init__(self, message: str, *, suggestions: Sequence[str] = (), **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions)
        self.details: dict[str, Any] = {"reason": self.reason, **details}


class NoTreeError(OpenSpecError):
    """There is no OpenSpec tree yet."""

    reason = "no_openspec_root"

    def __init__(self, place: Path) -> None:
        super().__init__(
            f"No OpenSpec tree at {place}.",
            suggestions=["Make one with the init tool, or with: openspec init --tools none"],
            path=str(place),
        )


class AlreadyInitialisedError(OpenSpecError):
    """`init` where a tree already is."""

    reason = "already_initialized"

    def __init__(self, place: Path) -> None:
        super().__init__(
            f"OpenSpec is already initialized at {place}.",
            suggestions=["List what is there with the list tool; nothing was changed."],
            path=str(place),
        )


class InvalidNameError(OpenSpecError):
    """An id that can name nothing in a tree."""

    reason = "invalid_name"

    def __init__(self, kind: str, name: str, problem: str) -> None:
        shown = "".join(c if c.isprintable() else "?" for c in name)[:120]
        super().__init__(
            f"The {kind} '{shown}' {problem}.",
            suggestions=[f"Give the {kind} as the list tool shows it."],
            kind=kind,
        )
        self.problem = problem


class NotFoundError(OpenSpecError):
    """A well-formed name that names nothing."""

    reason = "not_found"

    def __init__(self, kind: str, name: str, near: Sequence[str] = ()) -> None:
        super().__init__(
            f"{kind} '{name}' not found.",
            suggestions=[f"Did you mean: {', '.join(near)}?"] if near else [],
            name=name,
            near=list(near),
        )
        self.kind = kind
        self.name = name
        self.near = list(near)


class AmbiguousError(OpenSpecError):
    """A name that is both a change and a spec."""

    reason = "ambiguous_item"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"'{name}' is both a change and a spec.",
            suggestions=["Say which with type: change or spec."],
            name=name,
        )


class OutsideTreeError(OpenSpecError):
    """A path that leaves the tree, for example through a symbolic link."""

    reason = "outside_tree"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} leads outside the OpenSpec tree.",
            suggestions=["Replace the symbolic link by the real file or folder."],
            path=str(path),
        )


class BadFileError(OpenSpecError):
    """A file or folder that cannot be used as it is."""

    reason = "bad_file"

    def __init__(self, path: Path, problem: str, remedy: str = "") -> None:
        super().__init__(
            f"{path}: {problem}", suggestions=[remedy] if remedy else [], path=str(path)
        )
        self.path = path
        self.problem = problem


class TooLargeError(BadFileError):
    """A file larger than this pack reads."""

    reason = "file_too_large"

    def __init__(self, path: Path, size: int, limit: int) -> None:
        super().__init__(
            path,
            f"the file has {size:,} bytes; the limit is {limit:,}",
            "Split the document, or raise max_file_bytes in the settings.",
        )


class CannotWriteError(BadFileError):
    """The disk refused a write: full, read-only or not permitted. Nothing was changed."""

    reason = "cannot_write"
    retryable = False
    sent = False


class RefusedError(OpenSpecError):
    """An archive that does not go ahead; nothing was changed."""

    reason = "archive_refused"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        suggestions: Sequence[str] = (),
        losses: Sequence[Mapping[str, object]] = (),
        findings: Sequence[Mapping[str, object]] = (),
    ) -> None:
        extra: dict[str, object] = {}
        if losses:
            extra["losses"] = [dict(loss) for loss in losses]
        if findings:
            extra["findings"] = [dict(finding) for finding in findings]
        super().__init__(message, suggestions=suggestions, **extra)
        self.code = code
        self.details["reason"] = code


class TasksIncompleteError(RefusedError):
    """A change with open tasks, and no `force`."""


class ConflictError(OpenSpecError):
    """Something of this name is there already. Nothing was changed."""

    reason = "already_exists"


class WithdrawnError(OpenSpecError):
    """Nobody waits for the archive any more; nothing was changed."""

    reason = "cancelled"


class LockedError(OpenSpecError):
    """Another archive is running."""

    reason = "archive_running"


class ChangedError(OpenSpecError):
    """A file was edited while an archive was under way. Nothing of the archive was kept."""

    reason = "concurrent_edit"


class MergeError(OpenSpecError):
    """A delta that cannot be merged into its spec as it is."""

    reason = "merge_refused"


class IncompleteError(OpenSpecError):
    """A spec or a proposal without a section that it must have to be shown."""

    reason = "incomplete"

    def __init__(self, document: str, section: str) -> None:
        super().__init__(f"{document} must have a {section} section", section=section)
        self.section = section


class FormatError(OpenSpecError):
    """A file that does not say what it must."""

    reason = "bad_format"


class InvalidYamlError(FormatError):
    """A text that is not YAML."""

    reason = "invalid_yaml"


class SchemaError(FormatError):
    """A workflow schema that is not there or cannot be used."""

    reason = "invalid_schema"


class MetadataError(FormatError):
    """The metadata of a change that cannot be used."""

    reason = "invalid_metadata"
