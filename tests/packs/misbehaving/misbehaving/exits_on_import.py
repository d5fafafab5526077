"""A pack that takes itself for a program."""

import sys

sys.exit(7)
