"""The front of a session: it hands its streams to the warm host, or has this process serve alone.

Like all of `startup/` it imports itself and a few modules of the standard library.
"""
