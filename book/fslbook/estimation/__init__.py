"""Estimation: a task's own accuracy without a query set."""
