"""The helper modules beside this file, and the hostile pack, can be imported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
