"""Logins by OAuth at servers that have an address."""
