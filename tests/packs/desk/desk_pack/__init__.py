"""A pack that answers, asks, tells and keeps secrets, for the tests of the core."""
