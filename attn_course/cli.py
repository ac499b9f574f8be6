"""The command `attn`: imports the one command that was called, and no other."""

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from attn_course import course_files
from attn_course.command_line import SETTINGS, log_options, run
from attn_course.errors import UserError

COMMANDS = {  # name: (where it is declared, the extra of pyproject.toml that it needs)
    "init": ("attn_course.workspace.commands:init", ""),
    "lab": ("attn_course.workspace.commands:lab", "lab"),
    "status": ("attn_course.workspace.commands:status", ""),
    "check": ("attn_course.workspace.commands:check", ""),
    "update": ("attn_course.workspace.commands:update", ""),
    "reset": ("attn_course.workspace.commands:reset", ""),
    "collect": ("attn_grader.command:collect", "grade"),
    "grade": ("attn_grader.command:grade", "grade"),
    "feedback": ("attn_grader.command:feedback", "grade"),
    "diff": ("attn_grader.command:diff", "grade"),
    "release": ("attn_grader.command:release", "grade"),
    "gradescope": ("attn_grader.command:gradescope", "grade"),
    "translate": ("attn_course.translation.command:translate", "torch"),
    "build": ("attn_course.building.command:build", "dev"),
    "site": ("attn_course.building.command:site", "dev"),
    "playground": ("attn_course.building.command:playground", "torch"),
    "help": ("attn_course.cli:help_", ""),
}
EXTRAS = {name: extra for name, (_, extra) in COMMANDS.items()}
COMPLETION = "_ATTN_COMPLETE"  # the variable by which a shell asks for completions
EPILOG = """\b
Exit status: 0 done; 1 done, and something needs attention (the output says what);
2 an option, a file or this machine cannot be used; 130 stopped by Ctrl-C;
141 the reader of a pipe has gone.

\b
Completion in the shell, for bash (zsh and fish: zsh_source, fish_source):
eval "$(_ATTN_COMPLETE=bash_source attn)"
"""


class LazyGroup(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        where, _ = COMMANDS[cmd_name]
        module, _, function = where.partition(":")
        return getattr(import_module(module), function)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a mistyped name is answered with the likely one."""
        find(ctx, args[0])
        return super().resolve_command(ctx, args)


def find(context: click.Context, name: str) -> click.Command:
    """Return the command of a name; raise UserError with the nearest name if there is none."""
    command = attn.get_command(context, name)
    if command is None:
        near = get_close_matches(name, COMMANDS, 1)
        advice = f"did you mean {near[0]}?" if near else "see attn --help."
        raise UserError(f"there is no command {name!r}; {advice}")
    return command


def _version(context, param, is_given):
    if is_given and not context.resilient_parsing:
        print(f"attn {course_files.version()}")
        context.exit()


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    invoke_without_command=True,
    params=log_options(),
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version.",
)
@click.pass_context
def attn(context: click.Context) -> None:
    """The attention course: notebooks, checked answers, grading.

    `attn COMMAND --help` describes a command.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())
        context.exit(2)


@click.command("help", context_settings=SETTINGS)
@click.argument("command", required=False)
@click.pass_context
def help_(context: click.Context, command: str | None) -> None:
    """Describe a command, or list all of them."""
    above = context.parent
    assert above is not None
    if command is None:
        print(above.get_help())
        return
    described = find(above, command)
    inner = click.Context(described, above, info_name=command, **described.context_settings)
    print(described.get_help(inner))


def main(argv: Sequence[str] | None = None) -> int:
    """Run `attn COMMAND ...` and return its exit status."""
    if COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(attn, {}, "attn", COMPLETION, os.environ[COMPLETION])
    words = sys.argv[1:] if argv is None else argv
    return run(attn, "attn", words, EXTRAS)


if __name__ == "__main__":
    sys.exit(main())
