"""The pages on the commands, written from what ``--help`` prints."""

import argparse
import re
import textwrap

from ledger_page import table_row

from fslcore.cli.program import EXIT_CODES

WIDTH = 76  # characters of code that a page shows beside its contents
COMMON = ("--help", "--debug", "--quiet")
COMPUTING = ("--device", "--precision")
LIBRARY = """# Every command

```bash
fslcore --help
fslcore evaluate --help
```

This is the text of `--help`, for every command of the library; {doc}`commands-book` has those of the book.
`python -m fslcore` is the same program. Arguments, and whether the output can be written, are checked before the work
starts. A file is written completely or not at all, and an input is never overwritten.
"""
BOOK = """# Every command of the book

```bash
fslbook --help
fslbook run --help
```

This is the text of `--help`, for every command of the book; {doc}`commands` has those of the library, the options that
all commands share, and the exit codes. `python -m fslbook` is the same program.
"""


def library_page():
    """The page on the commands of ``fslcore``, as Markdown."""
    from fslcore.cli import app

    parser = app._program().parser
    evaluate = subparsers(parser).choices["evaluate"]
    shared = [
        argument_row(evaluate, action)
        for action in evaluate._actions
        if names_of(action) & {*COMMON, *COMPUTING}
    ]
    codes = re.findall(r"^  (\d+) +(.*)$", EXIT_CODES, re.MULTILINE)
    lines = [LIBRARY, *table("command", "what it does", help_of_commands("fslcore", parser))]
    lines += ["Options of every command; the last two of commands that compute with networks:", ""]
    lines += [*table("option", "meaning", shared), *table("exit code", "meaning", codes)]
    return "\n".join(lines + sections("fslcore", parser))


def book_page():
    """The page on the commands of ``fslbook``, as Markdown."""
    from fslbook import cli

    parser = cli._program().parser
    lines = [BOOK, *table("command", "what it does", help_of_commands("fslbook", parser))]
    return "\n".join(lines + sections("fslbook", parser))


def subparsers(parser):
    """The argument of a program that is its command."""
    return next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))


def help_of_commands(name, parser):
    """A link to the section of each command, and its line of help."""
    return [
        (f"[`{name} {action.dest}`](#{name}-{action.dest})", as_text(action.help))
        for action in subparsers(parser)._choices_actions
    ]


def sections(name, parser):
    """The lines of a section per command: what it does, its examples, and its own arguments."""
    lines = []
    for command, its_parser in subparsers(parser).choices.items():
        rows = [
            argument_row(its_parser, action)
            for action in its_parser._actions
            if not names_of(action) & {*COMMON, *COMPUTING}
        ]
        lines += [f"({name}-{command})=", f"## {name} {command}", "", its_parser.description, ""]
        lines += ["```bash", *map(wrapped, examples(its_parser)), "```", ""]
        lines += table("argument", "meaning", rows)
    return lines


def examples(parser):
    """The lines of the examples of a command."""
    text = parser.epilog.removesuffix(EXIT_CODES).removeprefix("examples:\n")
    return textwrap.dedent(text).strip().splitlines()


def names_of(action):
    return {*action.option_strings}


def argument_row(parser, action):
    """An argument with the value it takes, and its help."""
    words = as_text(parser._get_formatter()._expand_help(action))
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`", words
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    return f"{names} {as_text(value_of(action))}".strip(), words


def value_of(action):
    """The value that an option takes; none if it only is there."""
    if action.nargs == 0:
        return ""
    if action.choices and not action.metavar:
        return " or ".join(map(str, action.choices))
    value = action.metavar or action.dest.upper()
    if isinstance(value, tuple):
        return " ".join(value)
    return f"{value} …" if action.nargs == "+" else value


def as_text(words):
    """Help as Markdown: options and forms of names are code."""
    return re.sub(r"(?<![\w-])(--[a-z][\w-]*|\w+:[A-Z_a-z]+\b)", r"`\1`", words)


def wrapped(command):
    """A line of the shell, continued on further lines before an option where it is too long."""
    units = re.sub(" (?![->])", "\0", command)
    lines = textwrap.wrap(
        units, WIDTH - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return " \\\n".join(lines).replace("\0", " ")


def table(first, second, rows):
    """The lines of a table of two columns, and an empty one."""
    return [table_row((first, second)), "| :-- | :-- |", *map(table_row, rows), ""]
