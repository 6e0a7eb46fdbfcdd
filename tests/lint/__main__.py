"""Prints what the rules find: ``python -m tests.lint [RULE …]``; nothing, and exit code 0, where all is well."""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

from tests.lint import chapters, documents, english, modules, references  # noqa: E402, F401
from tests.lint.files import RULES, Repository, findings  # noqa: E402


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Print what rules find below a folder; 1 where they find anything, else 0."""
    texts = [f"  {name}: {rule.check.__doc__}" for name, rule in RULES.items()]
    parser = argparse.ArgumentParser(
        prog="python -m tests.lint",
        description=__doc__,
        epilog="rules:\n" + "\n".join(texts),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rules", nargs="*", metavar="RULE", help="these rules alone")
    parser.add_argument(
        "--files",
        nargs="+",
        default=[],
        metavar="PATH",
        help="what changed: other files are read for rules on all",
    )
    options = parser.parse_args(arguments)
    names = options.rules
    if unknown := sorted(set(names) - set(RULES)):
        parser.error(f"RULE must be one of {', '.join(RULES)}, got {', '.join(unknown)}")
    found = sorted(findings(Repository(root), names, options.files))
    for finding in found:
        print(finding)
    if found:
        print(f"{len(found)} findings of {len({finding.rule for finding in found})} rules")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
