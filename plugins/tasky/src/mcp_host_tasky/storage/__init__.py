"""How a plan is kept: one shape of store, three kinds."""

from .conditions import Condition
from .home import Home
from .imported import files_of, write_files
from .json_file import JsonFile
from .location import Location, open_store
from .new_file import made_whole
from .project import Project, no_project
from .signs import Signs
from .store import Changes, Guard, Reading, Store, Writing, no_guard

__all__ = [
    "Changes",
    "Condition",
    "Guard",
    "Home",
    "JsonFile",
    "Location",
    "Project",
    "Reading",
    "Signs",
    "Store",
    "Writing",
    "files_of",
    "made_whole",
    "no_guard",
    "no_project",
    "open_store",
    "write_files",
]
