"""ctx backend serve"""

import argparse

from mcp_host_cortex_tasks.cli.answer import Answer, say
from mcp_host_cortex_tasks.errors import Unsupported
from mcp_host_cortex_tasks.storage.config import Config


def serve(given: argparse.Namespace, config: Config) -> Answer:
    """Serve the Cortex API until it is ended."""
    try:
        from mcp_host_cortex_tasks.backend.serve import serve as serve_until_ended
    except ImportError as error:
        raise Unsupported(
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
