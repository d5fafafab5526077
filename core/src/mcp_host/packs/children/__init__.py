"""Processes that packs live in: who starts and ends them, and how their messages are framed."""
