"""The command line: each command reads or writes through the library and prints text or JSON."""
