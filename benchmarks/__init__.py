"""How fast and how small the host and its packs are, beside their rivals: `make bench`."""
