"""The folder in which fronts and hosts meet: sockets, locks, logs, and why somebody served alone.

It belongs to this user alone, and is used by its descriptor: what was looked at is what is used.
"""

from __future__ import annotations

import fcntl
import os
import stat

from .. import folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

FOLDER = "warm"
SALT = "salt"
SALT_BYTES = 32


class PlaceError(Exception):
    """The folder cannot be used; the message says why."""


class HostGoneError(PlaceError):
    """Whoever was to answer at a socket has gone; the message says when."""


class Place:
    """The open folder; `path` is where it stands, for people."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def opened(cls, path: str | None = None) -> Self:
        """Open the folder, which is made where it is not there; `PlaceError` where it is unsafe."""
        path = path or default()
        try:
            os.makedirs(path, 0o700, exist_ok=True)
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise PlaceError(f"{path} cannot be opened: {error.strerror}") from None
        about = os.fstat(descriptor)
        if about.st_uid != os.getuid() or stat.S_IMODE(about.st_mode) & 0o077:
            os.close(descriptor)
            raise PlaceError(f"{path} must belong to this user, and to nobody else (chmod 700)")
        return cls(path, descriptor)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self.descriptor)

    def open(self, name: str, flags: int) -> int:
        """Open a file of the folder, which is made readable for this user alone."""
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(name, flags, 0o600, dir_fd=self.descriptor)

    def address(self, name: str) -> str:
        """The address of a socket in the folder: short, however long the folder's path is."""
        return f"/proc/self/fd/{self.descriptor}/{name}"

    def remove(self, name: str) -> None:
        """Remove a file, where it is there."""
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return

    def names(self) -> list[str]:
        """The names of the files in the folder."""
        return sorted(os.listdir(self.descriptor))

    def locked(self, name: str) -> int | None:
        """Take a lock, which is held until the descriptor and its copies are closed.

        None where somebody has it.
        """
        descriptor = self.open(f"{name}.lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def salt(self) -> bytes:
        """What digests of variables' values are salted with: made once, known to this user."""
        while True:
            try:
                descriptor = self.open(SALT, os.O_RDONLY)
            except FileNotFoundError:
                self._make_salt()
                continue
            with os.fdopen(descriptor, "rb") as file:
                found = file.read()
            if len(found) != SALT_BYTES:
                raise PlaceError(f"{self.path}/{SALT} is damaged: remove it")
            return found

    def _make_salt(self) -> None:
        """Make the salt whole, or not at all; where two do so at once, the first one counts."""
        draft = f".{SALT}-{os.getpid()}"
        with os.fdopen(self.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(os.urandom(SALT_BYTES))
        try:
            os.link(draft, SALT, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except FileExistsError:
            pass
        finally:
            self.remove(draft)


def default() -> str:
    """Where the folder stands."""
    return os.path.join(folders.cache(), FOLDER)


def note(name: str, text: str) -> None:
    """Write a file of the folder anew; silent where that cannot be."""
    try:
        place = Place.opened()
    except PlaceError:
        return
    try:
        with os.fdopen(place.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
            file.write(text)
    except OSError:
        return
    finally:
        place.close()
