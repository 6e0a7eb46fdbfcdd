"""``python -m fslbook``: the command line of the book."""

import sys

from fslcore.__main__ import guarded


def main() -> int:
    """`fslbook.cli.main`; Ctrl-C is quiet also while it is imported and while Python ends."""
    return guarded("fslbook", _command)


def _command() -> int:
    from . import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
