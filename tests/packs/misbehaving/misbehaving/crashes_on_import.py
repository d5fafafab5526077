"""A pack that crashes the interpreter when it is imported."""

import ctypes

ctypes.string_at(0)
