"""ctx backend serve"""

import argparse

from ..errors import UnsupportedError
from ..storage.config import Config
from .answer import Answer, say


def serve(given: argparse.Namespace, config: Config) -> Answer:
    """Serve the Cortex API until it is ended."""
    try:
        from ..backend.serve import serve as serve_until_ended
    except ImportError as error:
        raise UnsupportedError(
            f"The backend needs more than is installed: {error.name}",
            reason="extra_missing",
            suggestions=["pip install 'mcp-host-cortex-tasks[backend]'"],
        ) from None
    serve_until_ended(
        host=given.host,
        port=given.port,
        database=given.database,
        home=config.home,
        registration=not given.closed,
    )
    return Answer({"success": True}, say())
