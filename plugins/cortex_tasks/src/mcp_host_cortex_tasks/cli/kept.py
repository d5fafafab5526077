"""ctx kept list | show | restore | drop"""

import argparse
from datetime import datetime
from pathlib import Path

from ..service.work import Work
from ..storage.config import Config
from ..storage.kept import Item, Kept
from .answer import Answer, say


def list_items(given: argparse.Namespace, config: Config) -> Answer:
    """Show what our commands took out of sight and keep."""
    items = _kept(config).items()
    lines = [_line(item) for item in items] or ["Nothing is kept."]
    data = {"success": True, "kept": [item.as_data() for item in items]}
    return Answer(data, say(*lines))


def show(given: argparse.Namespace, config: Config) -> Answer:
    """Show one kept item and its files."""
    kept = _kept(config)
    item = kept.get(given.id)
    files = kept.files(item)
    data = {"success": True, "kept": [item.as_data() | {"files": files}]}
    return Answer(data, say(_line(item), *(f"  {name}" for name in files)))


def restore(given: argparse.Namespace, config: Config) -> Answer:
    """Put back a kept worktree or uncommitted work, or make a branch of a kept commit."""
    work = Work(config, Path.cwd())
    with work.turn() as turn:
        turn.take()
        item = work.kept.restore(given.id)
    where = f"the branch {item.branch}" if item.kind == "commit" else f"in {item.path}"
    data = {"success": True, "restored": item.as_data()}
    return Answer(data, say(f"{item.id} is back: {where}."))


def drop(given: argparse.Namespace, config: Config) -> Answer:
    """Delete a kept item for good."""
    work = Work(config, Path.cwd())
    with work.turn() as turn:
        turn.take()
        item = work.kept.drop(given.id)
    return Answer({"success": True, "dropped": item.as_data()}, say(f"{item.id} is gone."))


def _kept(config: Config) -> Kept:
    return Work(config, Path.cwd()).kept


def _line(item: Item) -> str:
    when = "" if item.at is None else f"{datetime.fromtimestamp(item.at):%Y-%m-%d %H:%M}"
    commit = (item.commit or "")[:10]
    moved = f"{item.path} → {item.folder}" if item.folder else str(item.path)
    what = commit if item.kind == "commit" else f"{commit} {moved}".strip()
    return f"{item.id}  {item.kind}  {when}  {what}"
