"""Resources: a text, a picture, a template, and one that can be watched."""

from typing import Annotated

from mcp_host import Complete, resource

from .samples import PICTURE


@resource("test://static-text", mime="text/plain", ttl=60, shared=True)
def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


@resource("test://static-binary", mime="image/png")
def static_binary() -> bytes:
    """A picture."""
    return PICTURE


def _ids(value: str) -> list[str]:
    return [name for name in ("alpha", "beta") if name.startswith(value)]


@resource("test://template/{id}/data", mime="application/json")
def template(id: Annotated[str, Complete(_ids)]) -> dict[str, object]:
    """What is known of an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@resource("test://watched-resource", mime="text/plain")
def watched() -> str:
    """A text that clients may subscribe to."""
    return "Watched resource content"


RESOURCES = (static_text, static_binary, template, watched)
