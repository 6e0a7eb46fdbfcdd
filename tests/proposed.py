"""What a report answers as a file is, or after its own proposal was typed."""

import shlex
from dataclasses import fields

from fslcore.cli import app
from fslcore.report import Options, Results
from fslcore.report.model import UnnamedRoles


def commands(error):
    """The commands that an error proposes."""
    lines = [line.strip() for line in str(error).splitlines()]
    return [line for line in lines if line.startswith("fslcore report ")]


def typed(error, place=0):
    """The files and the options of a command that an error proposes, by default of the first."""
    parsed = vars(app._program().parser.parse_args(shlex.split(commands(error)[place])[1:]))
    names = {field.name for field in fields(Options)}
    options = {name: value for name, value in parsed.items() if name in names}
    return [str(path) for path in parsed["results"]], options


def from_frame(frame, name="results", **options):
    """`Results.from_frame`, with the roles that it proposes."""
    try:
        return Results.from_frame(frame, name, **options)
    except UnnamedRoles as error:
        if not commands(error):
            raise
        return Results.from_frame(frame, name, **typed(error)[1])


def read(paths, **options):
    """`Results.read`, with the roles that it proposes."""
    try:
        return Results.read(paths, **options)
    except UnnamedRoles as error:
        if not commands(error):
            raise
        files, roles = typed(error)
        return Results.read(files, **roles)
