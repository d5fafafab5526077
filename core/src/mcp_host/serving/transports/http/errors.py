"""What can go wrong between this server and an issuer of tokens."""

from __future__ import annotations


class IssuerUnreachableError(Exception):
    """An issuer does not give its keys, so that nobody can say whose a token is."""
