"""Commands that tests run in processes of their own."""

import subprocess
import sys


def captured(command, **options):
    """What a command printed and how it ended, when it has ended."""
    return subprocess.run(command, text=True, capture_output=True, **options)


def run_code(code, *arguments, **options):
    """What Python printed that ran these lines."""
    return captured([sys.executable, "-c", code, *arguments], **options)
