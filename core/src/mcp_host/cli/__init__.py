"""The commands, one file each; typer and rich are imported in this room alone.

`app.py` has the table of them. A command's module is loaded when that command is run, so it imports
at its top what it needs. Late imports are in two places only: `common.py` and `listing.py`, since a
list that comes from the saved catalogue needs neither settings nor packs, which take ten times as
long as the list. Nothing is imported here: `serve` passes by on its way.
"""
