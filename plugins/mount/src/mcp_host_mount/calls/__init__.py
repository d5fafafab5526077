"""The calls that run at one server, and the questions that it asks meanwhile."""
