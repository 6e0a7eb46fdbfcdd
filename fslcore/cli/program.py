"""What the command lines share: common options, help, one line for an error, exit codes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import dedent, indent
from threading import current_thread, main_thread
from typing import Any, TextIO

from .. import __version__, catalogue, store
from ..errors import FslcoreWarning, InputError, visible
from ..paths import check_data
from .faults import Terminated, message, with_options
from .options import Parser, device_of

EXIT_CODES = """exit codes:
  0    done
  1    a fault of fslcore
  2    bad input, a file that cannot be read or written, or not enough memory
  130  stopped with Ctrl-C (143: by another program, with SIGTERM)"""
# Read by processes that this one starts.
OPTIONS_OF_CHILDREN = (
    "FSLCORE_DEVICE",
    "FSLCORE_PRECISION",
    "PYTHONWARNINGS",
    "TQDM_DISABLE",
)


class Program:
    """A command line with commands, such as ``fslcore``.

    Parameters
    ----------
    name : str
    description : str
    examples : str
        A line per example, for the help.
    extra : str
        The optional dependencies that its commands need, unless they name others.
    """

    def __init__(self, name: str, description: str, examples: str, extra: str) -> None:
        self.name = name
        self.extra = extra
        self._common = _with_common_options()
        self._device = _with_device_options()
        self.parser = Parser(
            name,
            description=description,
            parents=[self._common],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_epilog(examples),
        )
        self.parser.add_argument(
            "--version", action="version", version=__version__, help="print the version and exit"
        )
        self._commands = self.parser.add_subparsers(
            required=True, metavar="COMMAND", parser_class=Parser
        )

    def command(
        self,
        name: str,
        run: Callable[[argparse.Namespace], object],
        computes: bool = False,
        extra: str | None = None,
    ) -> Callable[..., argparse.Action]:
        """Add a command, and return the method that adds its arguments.

        Parameters
        ----------
        name : str
        run : callable
            Takes the parsed options. Its docstring is the help: the first line, then a line per
            example.
        computes : bool
            Whether the command takes a device and a precision, and writes to the cache.
        extra : str, optional
            The optional dependencies that the command needs, if not those of the program.
        """
        text, _, examples = (run.__doc__ or "").partition("\n")
        # Any parser can be a parent; the stubs ask for one of the commands' own class.
        parents: list[Any] = [self._common, self._device] if computes else [self._common]
        parser = self._commands.add_parser(
            name,
            help=text[:1].lower() + text[1:-1],
            description=text,
            parents=parents,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_epilog(examples),
        )
        parser.set_defaults(command=run, computes=computes, extra=extra or self.extra)
        return parser.add_argument

    def add_completion(self) -> None:
        """Add the command that prints a script for a shell."""

        def show_completion(options: argparse.Namespace) -> None:
            import shtab

            for parser in self._commands.choices.values():
                for action in parser._actions:
                    _complete(action, shtab.FILE)
            print(shtab.complete(self.parser, options.shell))

        folder = f"completions/{self.name}"
        show_completion.__doc__ = (
            "Print a script that lets a shell complete commands, options, names and files.\n\n"
            f"    {self.name} completion bash > ~/.local/share/bash-completion/{folder}\n"
            f"    {self.name} completion zsh > ~/.zfunc/_{self.name}\n"
            f"    {self.name} completion fish > ~/.config/fish/{folder}.fish\n"
        )
        add = self.command("completion", show_completion)
        add("shell", choices=["bash", "zsh", "fish", "tcsh"], help="bash, zsh, fish or tcsh")

    def run(self, arguments: list[str] | None, hints: Mapping[str, str]) -> int:
        """Run a command and return its exit code (see `EXIT_CODES`); an error is one line.

        Parameters
        ----------
        arguments : list of str, optional
            By default those of the process.
        hints : mapping
            By a command of another program: the line that names that program.
        """
        arguments = sys.argv[1:] if arguments is None else arguments
        _open_outputs()
        if arguments and arguments[0] in hints:
            print(f"{self.name}: {hints[arguments[0]]}", file=sys.stderr)
            return 2
        before = {name: os.environ[name] for name in OPTIONS_OF_CHILDREN if name in os.environ}
        command = next((word for word in arguments if word in self._commands.choices), None)
        extra = self._commands.choices[command].get_default("extra") if command else self.extra
        with warnings.catch_warnings():
            _show_warnings_as_lines(self.name)
            try:
                self._run(arguments)
            except (Exception, KeyboardInterrupt) as error:
                line, code = message(error, extra)
                if "--debug" in arguments:
                    traceback.print_exc()
                if line:
                    lines = "\n".join(map(visible, line.split("\n")))
                    print(f"{self.name}: {lines}", file=sys.stderr)
                if isinstance(error, OSError):
                    _drop_output()
                return code
            finally:  # another command in this process has its own options
                for name in OPTIONS_OF_CHILDREN:
                    os.environ.pop(name, None)
                os.environ.update(before)
        return 0

    def _run(self, arguments: list[str]) -> None:
        try:
            _stop_on_sigterm()
            defaults = argparse.Namespace(debug=False, quiet=False, device=None, precision=None)
            options = self.parser.parse_args(arguments, defaults)
        except SystemExit:  # after --help or --version
            sys.stdout.flush()
            raise
        _prepare(options)
        options.command(options)
        sys.stdout.flush()


def _show_warnings_as_lines(program: str) -> None:
    """Print a warning of ours as a line of the program, once per command; others as Python does."""
    show_other = warnings.showwarning
    printed = set()  # Python forgets what it has shown wherever a block changes the filters

    def show(  # noqa: PLR0917 (as `warnings.showwarning`)
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, FslcoreWarning):
            show_other(message, category, filename, lineno, file, line)
        elif str(message) not in printed:
            printed.add(str(message))
            print(f"{program}: {with_options(str(message))}", file=sys.stderr)

    warnings.showwarning = show


def _open_outputs() -> None:
    """Replace outputs that the shell has closed, and let a console without ± or → show another
    sign.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open until Python ends)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def _prepare(options: argparse.Namespace) -> None:
    """Set what a command and its processes read from the environment, and check that it can
    start.
    """
    environment = {"FSLCORE_DEVICE": options.device, "FSLCORE_PRECISION": options.precision}
    os.environ |= {name: value for name, value in environment.items() if value}
    if options.extra != "report":
        check_data(options.extra)
    if options.computes:
        if not store.path().is_dir():  # an existing one may contain everything needed
            store.check_writable()
        if os.environ.get("FSLCORE_DEVICE", "cpu") != "cpu":
            from ..models import backbones

            backbones.device()  # a missing device is reported even if everything is in the cache
    if options.quiet:
        os.environ |= {"TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
        warnings.simplefilter("ignore")


def _with_common_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("--debug", action="store_true", help="show the full traceback of an error")
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bars or notes: only the result and errors"
    )
    return parser


def _with_device_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    parser.add_argument(
        "--device",
        type=device_of,
        help="cpu, cuda, cuda:NUMBER or mps (the first CUDA GPU, or else the CPU)",
    )
    parser.add_argument(
        "--precision",
        choices=catalogue.PRECISIONS,
        help="of networks that compute features or are fine-tuned: bf16 is mostly faster where "
        "there are instructions for it, and rounds more; auto is bf16 there, else f32 (f32)",
    )
    return parser


def _stop_on_sigterm() -> None:
    def stop(*_: object) -> None:
        raise Terminated

    # Not if the signal has another handler, or within another program's thread.
    if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)


def _drop_output() -> None:
    """Discard output still to be written to a closed pipe or a full disk, so that it raises nothing
    at the end.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _epilog(examples: str) -> str:
    return f"examples:\n{indent(dedent(examples).strip(), '  ')}\n\n{EXIT_CODES}"


def _complete(action: argparse.Action, files: object) -> None:
    """Let a shell complete an argument with its names or with files; the parser then reads no other
    arguments.
    """
    if action.type is Path or getattr(action.type, "of_files", False):
        action.complete = files  # type: ignore[attr-defined]  # read by the program for completion
        return
    names = getattr(action.type, "names", None)
    if names is not None:
        with suppress(InputError, ModuleNotFoundError):  # data sets come with `evaluate`
            action.choices = names()
