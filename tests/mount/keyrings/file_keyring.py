"""A keyring of the library `keyring` that is a file, for machines without a desktop."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    """Keeps passwords in the file that `FILE_KEYRING` names."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self._file = Path(os.environ["FILE_KEYRING"])

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._file.write_text(json.dumps({**self._all(), f"{service} {username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        kept = self._all()
        del kept[f"{service} {username}"]
        self._file.write_text(json.dumps(kept))

    def _all(self) -> dict[str, str]:
        return dict(json.loads(self._file.read_text())) if self._file.exists() else {}
