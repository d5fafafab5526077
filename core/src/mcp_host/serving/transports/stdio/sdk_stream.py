"""What the SDK wants of a pair of message streams, beside the messages."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from mcp.shared.message import SessionMessage


class SdkStream:
    """One object as both of the SDK's streams, whose end is not the SDK's to decide.

    A transport gives its messages by `__anext__` and takes those of the server by `send`.
    """

    async def __anext__(self) -> SessionMessage:
        raise NotImplementedError

    async def send(self, item: SessionMessage) -> None:
        """Take a message of the server."""
        raise NotImplementedError

    def __aiter__(self) -> Self:
        return self

    async def receive(self) -> SessionMessage:
        return await self.__anext__()

    async def aclose(self) -> None:
        """Do nothing: the stream outlives the SDK's interest in it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """As `aclose`."""
