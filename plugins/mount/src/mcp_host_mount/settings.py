"""What stands in [packs.X] for a mounted server, checked before its worker is started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from mcp_host import SettingsError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

Scalar = str | int | float | bool
Word = Annotated[str, Field(min_length=1)]


class OAuthSettings(BaseModel):
    """How a person logs in at a server with an address; all of it may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: Word | None = Field(
        None, description="What the authorization server knows this host as; it registers if not."
    )
    client_secret: Word | None = Field(None, description="The secret that belongs to client_id.")
    port: int = Field(
        0, ge=0, le=65535, description="The port of 127.0.0.1 that a browser comes back to."
    )
    keyring: bool = Field(
        False, description="Whether the tokens are kept in the system's keyring, not in a file."
    )


class MountSettings(BaseModel):
    """The keys of a mounted server; one of `command`, `url` and `server` names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: list[Word] | None = Field(
        None, min_length=1, description="The command of a server that speaks MCP on stdio."
    )
    url: str | None = Field(
        None, description="The address of a server that speaks streamable HTTP, or the older SSE."
    )
    server: str | None = Field(
        None,
        description='A server object in Python: "module:object" or "./server.py:object"; it gets '
        "a process of its own.",
    )
    python: str | None = Field(
        None, min_length=1, description="The interpreter of `server`; the host's own."
    )
    env: dict[str, Scalar] = Field(
        {}, description="Variables of its process, beside the usual ones that every program gets."
    )
    cwd: str | None = Field(
        None, description="The folder that its process starts in; the settings file's."
    )
    headers: dict[str, Scalar] = Field(
        {}, description="Headers of every request to `url`; secrets by `env` or `file`."
    )
    oauth: OAuthSettings = Field(
        OAuthSettings(), description="How a person logs in at `url`, by `mcp-host login`."
    )
    transport: Literal["http", "sse"] | None = Field(
        None, description="How `url` is spoken with; found out where it is not said."
    )
    allow: list[Literal["sampling", "roots"]] = Field(
        [], description="What the server may ask of clients, besides questions to a person."
    )
    instructions: bool = Field(
        False, description="Whether clients are shown the server's own instructions."
    )

    @field_validator("command", mode="before")
    @classmethod
    def _is_a_list(cls, command: object) -> object:
        if isinstance(command, str):
            words = ", ".join(f'"{word}"' for word in command.split())
            raise ValueError(f"command must be a list of words, as in command = [{words}]")
        return command

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("url must begin with https:// or http:// and name a host")
            if parts.username or parts.password:
                raise ValueError("url must not hold a password; put it into headers")
        return url

    @field_validator("server")
    @classmethod
    def _is_object(cls, server: str | None) -> str | None:
        if server is not None:
            place, _, name = server.rpartition(":")
            if not place or not all(part.isidentifier() for part in name.split(".")):
                raise ValueError("server must be 'module:object' or './file.py:object'")
        return server


OF_A_PROCESS, OF_AN_ADDRESS = ("env", "cwd"), ("headers", "oauth", "transport")


def check(pack: str, key: str, given: Mapping[str, Any]) -> MountSettings:
    """Return the settings of a mounted server; `SettingsError` names the key that is wrong."""
    try:
        settings = MountSettings.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise SettingsError(_in_words(pack, first["loc"], first["type"], first["msg"])) from None
    misfits = {"command": (*OF_AN_ADDRESS, "python"), "url": (*OF_A_PROCESS, "python")}
    for other in misfits.get(key, OF_AN_ADDRESS):
        if other in given:
            raise SettingsError(f"packs.{pack}: {other} must not stand beside {key}")
    return settings


WORDS = {
    "dict_type": "must be a table",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "model_type": "must be a table",
}
"""What is said of a value, by pydantic's word for what is wrong with it."""


def _in_words(pack: str, place: tuple[int | str, ...], kind: str, message: str) -> str:
    """Say which key is wrong, and what is right."""
    if place[0] in ("env", "headers") and len(place) > 2:  # one line for each kind it might be
        place, kind, message = place[:2], "", "must be a text, a number, true or false"
    where = ".".join(map(str, (f"packs.{pack}", *place)))
    if kind == "extra_forbidden":
        known = OAuthSettings.model_fields if place[0] == "oauth" else MountSettings.model_fields
        return f"{where}: unknown key; known are {', '.join(known)}"
    words = message.removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{where}: {WORDS.get(kind, words)}"
