"""``python -m fslcore``: the command line."""

import gc
import signal
import sys
from collections.abc import Callable


def main() -> int:
    """`fslcore.cli.app.main`; Ctrl-C is quiet also while it is imported and while Python ends."""
    return guarded("fslcore", _command)


def _command() -> int:
    from .cli import app

    return app.main()


def guarded(program: str, command: Callable[[], int]) -> int:
    """Import and run a command, without a traceback where it is stopped while it is imported or ends."""
    # Objects made by imports are permanent: collecting garbage among them takes a sixth of a report's time.
    gc.set_threshold(50_000)
    try:
        return command()
    except KeyboardInterrupt:
        print(f"{program}: stopped", file=sys.stderr)
        return 130
    finally:
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
        ):  # handled by the system from here on: no traceback
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
