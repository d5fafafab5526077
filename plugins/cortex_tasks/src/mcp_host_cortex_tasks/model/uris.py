"""The addresses of what can be read, and watched."""

from typing import Final

TASKS: Final = "cortex://tasks"
STATUS: Final = "cortex://status"
