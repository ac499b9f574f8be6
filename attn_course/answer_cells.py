"""Watch the cells of a running notebook, so that `check` can say that an answer cell did not run.

Importing `check` in a notebook starts the watch. A cell that does not compile leaves the functions from
before in place, and a name that no cell has defined would end the check cell with a NameError; the verdict
says both in a sentence instead.
"""

import ast
import builtins
import sys
from collections.abc import Callable
from typing import Any, TypeGuard

_not_compiled: dict[str, str] = {}  # name: why the last cell that should define it did not run


class Missing:
    """Stands for an answer that no cell has defined yet."""

    def __init__(self, name: str):
        self.name = name


def value_or_missing(name: str, value: Callable[[], Any]) -> Any:
    """Return `value()`, or a Missing if the notebook has no such name."""
    try:
        return value()
    except NameError:
        return Missing(name)


class CheckCalls(ast.NodeTransformer):
    """Let check("1.4", copy_query) run although copy_query is not defined."""

    def visit_Call(self, call: ast.Call) -> ast.AST:
        """Wrap each plain name that is handed to `check`."""
        self.generic_visit(call)
        if isinstance(call.func, ast.Name) and call.func.id == "check":
            call.args[1:] = [_wrapped(arg) if _is_own(arg) else arg for arg in call.args[1:]]
        return call


def _is_own(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and not hasattr(builtins, node.id)


def _wrapped(name: ast.Name) -> ast.expr:
    module = f"__import__({__name__!r}, fromlist=['value_or_missing'])"
    text = f"{module}.value_or_missing({name.id!r}, lambda: {name.id})"
    expression = ast.parse(text, mode="eval").body
    for node in ast.walk(expression):
        ast.copy_location(node, name)
    return expression


def watch_cells() -> None:
    """In a notebook, watch every later cell; elsewhere, do nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell and not any(isinstance(other, CheckCalls) for other in shell.ast_transformers):
        shell.ast_transformers.append(CheckCalls())
        shell.events.register("post_run_cell", note_cell)


def note_cell(result: Any) -> None:
    """Note whether a cell that was run compiled. result: the ExecutionResult of IPython."""
    source = getattr(getattr(result, "info", None), "raw_cell", None)
    if not isinstance(source, str):
        return
    from attn_course.cell_variables import names_of

    error = result.error_before_exec
    for name in names_of(source).given:
        if error is None:
            _not_compiled.pop(name, None)
        else:
            line = (
                f" in line {error.lineno}"
                if isinstance(error, SyntaxError) and error.lineno
                else ""
            )
            _not_compiled[name] = f"{type(error).__name__}{line}"


def remark_on(names: tuple[str, ...]) -> str:
    """Return a sentence if the cell of one of these names did not run the last time, else ""."""
    for name in names:
        if name in _not_compiled:
            return (
                f"The cell that defines `{name}` did not run ({_not_compiled[name]}); this is the verdict on "
                f"the `{name}` from before."
            )
    return ""


def sentence_on_missing(name: str) -> str:
    """Return what `check` says if the cell with the answer was not run."""
    if name in _not_compiled:
        return f"the cell that defines `{name}` did not run ({_not_compiled[name]})."
    return f"`{name}` is not defined yet; run the cell with your answer first."


def source_of(names: tuple[str, ...]) -> str:
    """Return the newest cell of this notebook that defines any of these names, "" if there is none."""
    from attn_course.cell_variables import names_of

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    history = shell.user_ns.get("In", []) if shell else []
    for source in reversed(history):
        if isinstance(source, str) and not names_of(source).defined.isdisjoint(names):
            return source
    return ""
