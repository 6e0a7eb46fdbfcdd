"""Tools: what is built on the core, for people."""
