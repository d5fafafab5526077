"""A running host as other programs of its user see it: its lists, its calls as they go."""
