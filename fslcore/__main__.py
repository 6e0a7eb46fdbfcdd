"""``python -m fslcore``: the command line."""

import gc
import signal
import sys


def main() -> int:
    """`fslcore.tools.cli.app.main`; Ctrl-C is quiet also while it is imported and while Python ends."""
    # Objects made by imports are permanent: collecting garbage among them takes a sixth of a report's time.
    gc.set_threshold(50_000)
    try:
        from .tools.cli.app import main as command

        return command()
    except KeyboardInterrupt:
        print("fslcore: stopped", file=sys.stderr)
        return 130
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # handled by the system from here on: no traceback
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
