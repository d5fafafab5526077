"""Settings that are read again while a host serves: by a signal, a command, or a changed file."""
