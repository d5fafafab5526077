"""The local page: what a host lists, calls with forms, and every call as it goes."""

from .page import Page

__all__ = ["Page"]
