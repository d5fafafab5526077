"""The pack as its entry point names it: what it does is chosen by the variable `HOSTILE_WAY`."""

import os

from hostile.registry import ways

way = ways()[os.environ["HOSTILE_WAY"]]
way.run_at_import()
plugin = way.plugin()
