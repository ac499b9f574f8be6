"""An error in a cell that makes a chain does not stop the notebook: it becomes the fault of that chain."""

import ast
import sys

_SHOWN = "_chain"  # holds a chain that is shown without a name
_GUARD = """
try:
    pass
except Exception as error_in_cell:
    from attn_course.derivation import failed_chains
    globals().update(failed_chains(error_in_cell, NAMES))
"""


def guard_cells() -> None:
    """In a notebook, run every later cell that makes a chain so that an error becomes a verdict."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell and not any(isinstance(transformer, Guard) for transformer in shell.ast_transformers):
        shell.ast_transformers.append(Guard())


class Guard(ast.NodeTransformer):
    """Puts a cell that makes a chain into `try`, all but the line that shows its result."""

    def visit_Module(self, module: ast.Module) -> ast.Module:
        """Return the cell with its chains inside `try`."""
        body = module.body
        if body and isinstance(body[-1], ast.Expr) and _makes_chain(body[-1]):
            last = body[-1]
            named = ast.Assign([ast.Name(_SHOWN, ast.Store())], last.value)
            display = ast.Expr(ast.Name(_SHOWN, ast.Load()))
            body = [*body[:-1], ast.copy_location(named, last), ast.copy_location(display, last)]
        names: dict[str, tuple[int, int | None]] = {}
        for statement in body:
            if isinstance(statement, ast.Assign) and _makes_chain(statement):
                targets = [name for name in statement.targets if isinstance(name, ast.Name)]
                names |= {name.id: (statement.lineno, statement.end_lineno) for name in targets}
        if not names:
            return module
        end = len(body) - isinstance(body[-1], ast.Expr)
        guard = ast.parse(_GUARD.replace("NAMES", repr(names))).body[0]
        assert isinstance(guard, ast.Try)
        guard.body = body[:end]
        module.body = [guard, *body[end:]]
        return ast.fix_missing_locations(module)


def _makes_chain(statement):
    """Return True if the statement calls `derive`."""
    called = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any("derive" in (getattr(f, "id", ""), getattr(f, "attr", "")) for f in called)
