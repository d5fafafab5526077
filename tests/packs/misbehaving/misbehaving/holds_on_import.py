"""A pack that holds the interpreter for an hour when it is imported."""

import ctypes

ctypes.PyDLL(None).sleep(3600)
