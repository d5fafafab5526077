"""The commands, one file each; typer and rich are imported in this room alone.

`app.py` puts them together. Nothing is imported here: `serve` passes by on its way.
"""
