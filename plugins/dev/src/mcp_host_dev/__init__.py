"""What authors of packs use while they write: commands beside those of the host."""
