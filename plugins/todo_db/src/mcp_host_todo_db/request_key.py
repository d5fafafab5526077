"""A caller's own name for a request; apart from the model, since lists do without digests."""

import hashlib
import json
from dataclasses import dataclass
from typing import Self

from .model import MAX_KEY, storable_text


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A caller's own name for a request, and a digest of what the request asks for."""

    text: str
    body: str

    @classmethod
    def of(cls, text: str | None, *asked: str | bool | None) -> Self | None:
        """The key of a request; None for one without.

        Raises `InvalidTaskError`.
        """
        if not text:
            return None
        storable_text("request_key", text, MAX_KEY)
        return cls(text, hashlib.sha256(json.dumps(asked).encode()).hexdigest())
