"""Linters of what the project writes: prose, chapters, printed commands, and the layout of modules.

One pass reads each file once; ``python -m tests.lint`` (``make lint``, pre-commit) prints a line per finding.
"""
