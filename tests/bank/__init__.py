"""Right answers of other forms, and known wrong ones with what must be said about each.

RIGHT[question][name] is a tuple of answers, as `check` takes them. WRONG[question][name] is
(answer, part of the message); where a question takes several answers, `answer` is a tuple of them.
Names end in the mistake's number where it was found in print.
"""

import inspect
import linecache
import textwrap
from itertools import count

_number = count(1)


def edited(answer, old, new, *more):
    """A copy of a function or class in which the text `old` is `new`, and so on in pairs."""
    source = textwrap.dedent(inspect.getsource(answer))
    for before, after in zip((old, *more[::2]), (new, *more[1::2]), strict=True):
        assert before in source, f"{answer.__name__} has no {before!r}"
        source = source.replace(before, after)
    name = f"<edited {next(_number)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = dict(inspect.getmodule(answer).__dict__)
    exec(compile(source, name, "exec"), space)
    return space[answer.__name__]
