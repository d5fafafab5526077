"""ctx undo"""

import argparse
from pathlib import Path

from mcp_host_cortex_tasks.cli.answer import Answer, say
from mcp_host_cortex_tasks.service.undo import undo as take_back
from mcp_host_cortex_tasks.service.work import Work
from mcp_host_cortex_tasks.storage.config import Config


def undo(given: argparse.Namespace, config: Config) -> Answer:
    """Take the last command back."""
    data = take_back(Work(config, Path.cwd(), given.dry_run))
    steps = data.get("would") or data.get("steps")
    lines = [f"  {step}" for step in steps] if isinstance(steps, list) else []
    verb = "Would take back" if given.dry_run else "Taken back:"
    return Answer(data, say(f"{verb} {data['undone']} of task {data['task_id']}.", *lines))
