"""``python -m fslcore``: the command line."""

import sys


def main() -> int:
    """`fslcore.cli.main`, where Ctrl-C stops its import quietly too."""
    try:
        from .cli import main as command

        return command()
    except KeyboardInterrupt:
        print("fslcore: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
