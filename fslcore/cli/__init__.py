"""The command line: ``fslcore COMMAND``."""
