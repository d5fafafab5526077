"""A new file that is made beside its place, and put there whole."""

import glob
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """Give a path to make a file at, and put it in its place once that is done; what a database
    left beside it goes, also where it was not done.

    Raises `FileExistsError` where something stands in its place by then, which is left alone.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        yield new
        _put(new, path)
    finally:
        for left in new.parent.glob(f"{glob.escape(new.name)}*"):
            left.unlink(missing_ok=True)


def _put(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(path) from None
        new.rename(path)
