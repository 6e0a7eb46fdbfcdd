"""Commands that tests run in processes of their own."""

import subprocess


def captured(command, **options):
    """What a command printed and how it ended, when it has ended."""
    return subprocess.run(command, text=True, capture_output=True, **options)
