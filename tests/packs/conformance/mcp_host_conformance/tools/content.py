"""Every kind of content that a tool may return."""

from mcp_host import Audio, Embedded, Image, InternalError, Text, tool

from ..samples import PICTURE, SOUND


@tool(read_only=True)
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> Image:
    """Return a picture."""
    return Image(PICTURE)


@tool(read_only=True)
def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(SOUND)


@tool(read_only=True)
def test_embedded_resource() -> Embedded:
    """Return a resource with its content."""
    return Embedded("test://embedded-resource", "This is an embedded resource content.")


@tool(read_only=True)
def test_multiple_content_types() -> list[Text | Image | Embedded]:
    """Return a text, a picture and a resource."""
    data = '{"test": "data", "value": 123}'
    return [
        Text("Multiple content types test:"),
        Image(PICTURE),
        Embedded("test://mixed-content-resource", data, "application/json"),
    ]


@tool(read_only=True)
def test_error_handling() -> str:
    """Fail, and say so."""
    raise InternalError("This tool intentionally returns an error for testing")


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
)
