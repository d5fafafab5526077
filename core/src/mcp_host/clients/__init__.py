"""The clients that can be told of this host: their files, their entries, and how these change."""
