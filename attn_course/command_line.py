"""What all commands share: checked numbers, options with several values, -q, -v, errors as sentences."""

import contextlib
import io
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from attn_course.errors import UserError

log = logging.getLogger("attn_course")
DONE = 0
ATTENTION = 1  # it was done, and something needs a person: the output says what
UNUSABLE = 2  # an option, a file or a machine that cannot be used; nothing was done
STOPPED = 130  # Ctrl-C, as a shell has it
READER_GONE = 141  # the reader of a pipe, such as head, has closed it
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Number(click.ParamType):
    """A number that a command accepts; `bounds` says in words which ones those are."""

    read: type[int] | type[float]
    allows: Callable[[float], bool]
    bounds: str

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; raise UserError with the name of the option where it is none."""
        with contextlib.suppress(ValueError):
            number = self.read(value)
            if self.allows(number):
                return number
        option = max(param.opts, key=len) if param else "it"
        raise UserError(f"{option} must be {self.bounds}, not {str(value)[:40]!r}.")


class WholeNumber(_Number):
    """A whole number from `low` to `high`."""

    name = "N"
    read = int

    def __init__(self, low: int, high: int):
        self.allows = lambda number: low <= number <= high
        self.bounds = f"a whole number from {low} to {_plain(high)}"


class PositiveNumber(_Number):
    """A number above 0 and up to `high`."""

    name = "X"
    read = float

    def __init__(self, high: float):
        self.allows = lambda number: 0 < number <= high
        self.bounds = f"a number above 0 and up to {_plain(high)}"


def _plain(number):
    return f"2^{number.bit_length() - 1}" if number >= 1 << 40 else f"{number:,}"


class Several(click.Option):
    """An option that takes all the words after it: `--notebooks 1 2`."""

    def __init__(self, *args: Any, **settings: Any):
        settings["multiple"] = True
        super().__init__(*args, **settings)


class Command(click.Command):
    """A command with -q and -v, whose `Several` options take several words."""

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        self.params += log_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        return super().parse_args(ctx, self._repeated(args))

    def _repeated(self, words: Sequence[str]) -> list[str]:
        """Return `--notebooks 1 2` as `--notebooks 1 --notebooks 2`, which click reads."""
        several = set()
        for param in self.params:
            if isinstance(param, Several):
                several |= set(param.opts)
        repeated: list[str] = []
        option = ""
        for word in words:
            if word.startswith("-"):
                option = word if word in several else ""
            elif option and repeated[-1] != option:
                repeated.append(option)
            repeated.append(word)
        return repeated


def log_options() -> list[click.Parameter]:
    """Return the options -q and -v, which set the level of the log."""
    quiet = "Print results and errors only: no progress, no summary."
    verbose = "Print a line for every file, and all details of an error."
    return [
        _log_level(["-q", "--quiet"], logging.WARNING, quiet),
        _log_level(["-v", "--verbose"], logging.DEBUG, verbose),
    ]


def _log_level(names, level, text):
    def callback(context: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given:
            log.setLevel(level)

    return click.Option(names, is_flag=True, expose_value=False, callback=callback, help=text)


class _Lines(logging.StreamHandler):
    """The log as plain lines. A reader of the pipe that has gone raises BrokenPipeError."""

    def handleError(self, record: logging.LogRecord) -> None:
        raise


def require_fork() -> None:
    """Raise UserError where no process can be forked, as on Windows."""
    if not hasattr(os, "fork"):
        raise UserError("this needs Linux or macOS; in a notebook, run all cells instead.")


def run(
    command: click.Command,
    program: str,
    words: Sequence[str],
    extras: Mapping[str, str],
) -> int:
    """Run a command and return its exit status; whatever the user can mend is one sentence.

    What was typed is the object of its context.
    extras: {subcommand: the extra of pyproject.toml that brings its packages}; "" for the command itself.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name or sign that the terminal lacks
    output = _Lines(sys.stdout)
    output.addFilter(lambda record: record.levelno < logging.WARNING)
    errors = _Lines(sys.stderr)
    errors.setLevel(logging.WARNING)
    log.handlers = [output, errors]
    log.propagate = False
    log.setLevel(logging.INFO)
    name = words[0] if words and words[0] in extras else ""
    prefix = f"{program} {name}".strip()
    try:
        with command.make_context(program, list(words), obj=list(words)) as context:
            status = command.invoke(context)
        sys.stdout.flush()
        return status or DONE
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # or Python complains once more as it ends
        return READER_GONE
    except KeyboardInterrupt as interrupt:
        message = f"{prefix}: {interrupt}" if interrupt.args else "stopped."
        print(f"\n{message}", file=sys.stderr)
        return STOPPED
    except (UserError, OSError, ModuleNotFoundError, click.UsageError) as error:
        if log.level == logging.DEBUG:
            log.exception("")
        sentence = _sentence(error, extras.get(name, ""))
        print(f"{prefix}: {sentence}", file=sys.stderr)
        return UNUSABLE


def _sentence(error: Exception, extra: str) -> str:
    """Return the mistake as a sentence for the user; an error in the course itself is raised again."""
    if isinstance(error, ModuleNotFoundError):
        if error.name == "attn_grader":
            return "this is the student edition; the whole course has this command."
        package, _, _ = (error.name or "").partition(".")
        if (
            package in ("", "attn_course", "attn_grader", "attn_utils")
            or package in sys.stdlib_module_names
        ):
            raise error
        return missing_package(package, "torch" if package == "torch" else extra)
    if isinstance(error, click.UsageError):
        return _usage(error)
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[:1].lower() + error.strerror[1:]
        return f"{reason}." if error.filename is None else f"{error.filename}: {reason}."
    return str(error)


def missing_package(package: str, extra: str) -> str:
    """Say that a package is not installed, and which line brings it."""
    extras = f"[{extra}]" if extra else ""
    project = Path(__file__).parents[1] / "pyproject.toml"
    if not project.is_file():  # this runs from a wheel, not from the course's folder
        return f'{package} is not installed here; pip install "attention-course{extras}" brings it.'
    line = f'pip install -e ".{extras}"' if extras else "pip install -e ."
    return f"{package} is not installed here; in the course's folder, {line} brings it."


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "attn"
    if isinstance(error, click.NoSuchOption):
        message = f"there is no option {error.option_name}"
        near = get_close_matches(error.option_name, error.possibilities or [], 1, 0.7)
        if near:
            return f"{message}; did you mean {near[0]}?"
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        assert error.ctx is not None and isinstance(error.ctx.command, click.Group)
        message = f"say one of {', '.join(error.ctx.command.list_commands(error.ctx))}"
    else:
        text = " ".join(error.format_message().split()).rstrip(".")
        message = text[:1].lower() + text[1:].replace(". Choose from:", ", one of")
    return f"{message}; see {path} --help."
