"""``python -m fslcore``: the command line."""

import gc
import signal
import sys


def main() -> int:
    """`fslcore.tools.cli.app.main`; while that is imported, and while Python ends, Ctrl-C is as quiet as in between."""
    # What libraries make while they are imported lasts: looking for garbage among it is a sixth of a report's time.
    gc.set_threshold(50_000)
    try:
        from .tools.cli.app import main as command

        return command()
    except KeyboardInterrupt:
        print("fslcore: stopped", file=sys.stderr)
        return 130
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # by the system from here on: without a traceback
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
