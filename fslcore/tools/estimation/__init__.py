"""Estimation: what a task says of its own accuracy when there is no query set."""
