"""How a process of ours begins in any interpreter: with this very `mcp_host`.

Nothing beside it comes along: what is installed where the host is must not be seen by a pack that
has an environment of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PROGRAM = """\
import sys
if sys.path and sys.path[0] == "":
    del sys.path[0]
if sys.version_info < (3, 11):
    sys.exit("python must be 3.11 or later, not " + sys.version.split()[0])
import importlib, importlib.util, json, os
folder, module, given = sys.argv[1:4]
spec = importlib.util.spec_from_file_location(
    "mcp_host", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
package = sys.modules["mcp_host"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
del sys.argv[1:]
importlib.import_module(module).main(**json.loads(given))
"""


def program(module: str, **given: Any) -> list[str]:
    """Return the arguments of an interpreter that calls `main` of a module of ours."""
    folder = str(Path(__file__).parents[2])
    return ["-c", _PROGRAM, folder, module, json.dumps(given)]
