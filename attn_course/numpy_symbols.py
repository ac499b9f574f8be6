"""Let NumPy's functions take SymPy's symbols: `np.exp(t)` is `sp.exp(t)`."""

import sys

import numpy as np

NAMES = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
SHIFTED = {  # functions that SymPy writes as a sum
    "log1p": lambda sympy, x: sympy.log(1 + x),
    "expm1": lambda sympy, x: sympy.exp(x) - 1,
}


def let_numpy_take_symbols() -> None:
    """Teach SymPy's expressions, if SymPy is there, what to do when NumPy calls."""
    sympy = sys.modules.get("sympy")
    if sympy is not None and hasattr(sympy, "Expr"):
        sympy.Expr.__array_ufunc__ = _answer


def _answer(self, ufunc, method, *inputs, **options):
    import sympy

    if method == "__call__" and ufunc.__name__ in NAMES:
        return getattr(sympy, ufunc.__name__)(*inputs)
    if method == "__call__" and ufunc.__name__ in SHIFTED:
        return SHIFTED[ufunc.__name__](sympy, *inputs)
    boxed = [
        np.array(item, dtype=object) if isinstance(item, sympy.Expr) else item for item in inputs
    ]
    result = getattr(ufunc, method)(*boxed, **options)
    if isinstance(result, np.ndarray) and result.ndim == 0:
        return result.item()
    return result
