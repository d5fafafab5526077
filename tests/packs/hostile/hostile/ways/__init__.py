"""The families of ways, one module each."""
