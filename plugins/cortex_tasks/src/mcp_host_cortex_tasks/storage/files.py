"""Files only their owner may read, replaced whole or not at all."""

import contextlib
import os
from pathlib import Path


def private_folder(folder: Path) -> Path:
    """Make a folder for the owner alone, if it is not there, and return it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def replace_text(path: Path, text: str) -> None:
    """Put `text` into `path` (mode 0600) so that a reader or a crash sees the old or the new."""
    import tempfile  # here, since it takes 5 ms that those who only read do not wait for

    path = path.resolve()  # a settings file may be a link into a person's dotfiles
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
