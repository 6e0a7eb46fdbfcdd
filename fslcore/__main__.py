"""``python -m fslcore``: the command line."""

import signal
import sys


def main() -> int:
    """`fslcore.cli.main`; while that is imported, and while Python ends, Ctrl-C is as quiet as in between."""
    try:
        from .cli import main as command

        return command()
    except KeyboardInterrupt:
        print("fslcore: stopped", file=sys.stderr)
        return 130
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # by the system from here on: without a traceback
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
