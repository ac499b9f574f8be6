"""Runs solutions in a Python that has the course and nothing else: no kernel, no IPython, no torch.

    python tests/run_without_kernel.py solutions/0[0-5]_*.ipynb

Every check must give the verdict that is stored in the notebook. Imports nothing beyond the core.
"""

import ast
import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

from attn_course import Verdict


def stored_verdict(cell):
    """The headline of the verdict among a cell's outputs, or ""."""
    for output in cell["outputs"]:
        text = "".join(output.get("data", {}).get("text/plain", ""))
        if text[:1] in "✔✘○" and text[1:2] == " ":
            return text.splitlines()[0]
    return ""


def run(source, space):
    """Run a cell; what its last line gives, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), space)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)


def run_notebook(path):
    """How many verdicts it gave; each is compared with the stored one."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    space = {"__name__": "__main__", "display": lambda *things, **options: None}
    count = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            found = run("".join(cell["source"]), space)
        if isinstance(found, Verdict):
            count += 1
            said = repr(found)
            wanted = stored_verdict(cell)
            assert said.splitlines()[0] == wanted, f"{path.name}: {said!r}, stored {wanted!r}"
    return count


def main():
    os.environ["ATTN_FIGURES"] = "still"
    for name in sys.argv[1:]:
        path = Path(name)
        began = time.process_time()
        count = run_notebook(path)
        assert count, f"{path.name}: no verdict at all"
        print(
            f"{path.stem:26} {count:2} verdicts as stored, {time.process_time() - began:4.1f} CPU s"
        )
    assert "torch" not in sys.modules and "IPython" not in sys.modules


if __name__ == "__main__":
    main()
