"""The page about clients is made of what the commands know of them."""

import json
import re
from pathlib import Path

from clients_table import PAGE, written
from mcp_host.clients.client import Launch, this_host
from mcp_host.clients.known import CLIENTS


def test_the_page_about_clients_has_the_table_that_is_made_of_them() -> None:
    page = PAGE.read_text("utf-8")
    assert written(page) == page
    (entry,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    launch = Launch(
        "/home/ann/venv/bin/mcp-host",
        this_host(Path("/home/ann/project/mcp-host.toml"), Path("/home/ann/project")).arguments[
            -5:
        ],
    )
    assert json.loads(entry) == {"mcpServers": {"mcp-host": CLIENTS["cursor"].entry(launch)}}
