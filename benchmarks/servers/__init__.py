"""The rivals' servers, each a program of its own that serves the same addition."""
