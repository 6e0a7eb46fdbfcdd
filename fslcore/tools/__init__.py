"""Tools built on the core."""
