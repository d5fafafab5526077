"""What keeps tasks: a protocol, and the embedded store that answers it."""
