"""The version of the host, where modules find it that may not import the public API."""

VERSION = "0.1.0"
