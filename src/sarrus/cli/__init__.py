"""The command line: thin adapters around the library."""
