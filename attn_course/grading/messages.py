"""How a command ends that cannot do what was asked: in one sentence."""

import functools
import io
import sys
from collections.abc import Callable

from attn_course.errors import UserError

Command = Callable[[list[str]], int]


def in_a_sentence(command: Command) -> Command:
    """Have a command end in one sentence and status 2 where it cannot do what was asked."""

    @functools.wraps(command)
    def run(argv: list[str]) -> int:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a name or mark that the terminal lacks
        try:
            return command(argv)
        except (UserError, OSError) as error:
            print(f"attn {command.__name__}: {error}", file=sys.stderr)
            return 2

    return run
